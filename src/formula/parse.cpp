// From characters to a tree, by R's precedence: ~, then | and ||, comparisons, + and -, * and /, :, signs, ^.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

#include "magva/formula.hpp"
#include "table/message.hpp"

namespace magva::formula {

FormulaError::FormulaError(const std::string& sentence, std::string text, std::size_t position)
    : UsageError(fmt::format("formula, character {}: {}", std::min(position, text.size()) + 1, sentence)),
      text_(std::move(text)),
      position_(std::min(position, text_.size())) {}

std::string FormulaError::pointer() const {
  std::string shown = text_;
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c == '\n' || c == '\t' || c == '\r'; }, ' ');
  // A character of several bytes takes one place on the screen.
  const auto places = std::count_if(shown.begin(), shown.begin() + static_cast<std::ptrdiff_t>(position_),
                                    [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
  return fmt::format("  {}\n  {:>{}}", shown, "^", places + 1);
}

namespace {

constexpr std::size_t kLongest = 100'000;
constexpr int kDeepest = 200;

enum class TokenKind { number, name, text, op, end };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;
  double value = 0;
  std::size_t position = 0;
};

bool starts_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' ||
         (static_cast<unsigned char>(c) & 0x80U) != 0;
}
bool in_name(char c) { return starts_name(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Cuts a formula into tokens.
class Lexer {
 public:
  explicit Lexer(const std::string& text) : text_(text) {}

  Token next() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    Token token;
    token.position = at_;
    if (at_ == text_.size()) return token;
    const char c = text_[at_];
    if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])))
      read_number(token);
    else if (starts_name(c))
      read_name(token);
    else if (c == '`' || c == '"' || c == '\'')
      read_quoted(token);
    else
      read_operator(token);
    return token;
  }

 private:
  void read_number(Token& token) {
    token.kind = TokenKind::number;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), token.value);
    if (error != std::errc())
      throw FormulaError("the number is too large or too small", text_, token.position);
    at_ += static_cast<std::size_t>(end - begin);
    if (at_ < text_.size() && in_name(text_[at_]))
      throw FormulaError("a name cannot begin with a digit; put it in backticks if it is a column", text_,
                         token.position);
  }

  void read_name(Token& token) {
    token.kind = TokenKind::name;
    const std::size_t begin = at_;
    while (at_ < text_.size() && in_name(text_[at_])) ++at_;
    token.text = text_.substr(begin, at_ - begin);
  }

  void read_quoted(Token& token) {
    const char quote = text_[at_];
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string::npos)
      throw FormulaError(fmt::format("the quote {} is never closed", quote), text_, at_);
    token.kind = quote == '`' ? TokenKind::name : TokenKind::text;
    token.text = text_.substr(at_ + 1, end - at_ - 1);
    if (token.text.empty()) throw FormulaError("there is nothing between the quotes", text_, at_);
    at_ = end + 1;
  }

  void read_operator(Token& token) {
    static const std::array<std::string_view, 19> kOperators = {
        "||", "<=", ">=", "==", "!=", "**", "~", "|", "+", "-", "*", "/", ":", "^", "(", ")", ",", "=", "<"};
    const std::string_view rest = std::string_view(text_).substr(at_);
    const auto* found = std::find_if(kOperators.begin(), kOperators.end(),
                                     [&](std::string_view op) { return rest.starts_with(op); });
    token.kind = TokenKind::op;
    if (found != kOperators.end())
      token.text = *found;
    else if (rest.front() == '>')
      token.text = ">";
    else
      throw FormulaError(
          fmt::format("the character {} has no meaning in a formula", table::excerpt(rest.substr(0, 1))),
          text_, at_);
    at_ += token.text.size();
    if (token.text == "**") token.text = "^";
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

/// The strength with which a binary operator binds, or none.
std::optional<int> binding(const std::string& op) {
  if (op == "|" || op == "||") return 1;
  if (op == "<" || op == ">" || op == "<=" || op == ">=" || op == "==" || op == "!=") return 2;
  if (op == "+" || op == "-") return 3;
  if (op == "*" || op == "/") return 4;
  if (op == ":") return 5;
  if (op == "^") return 7;
  return std::nullopt;
}
constexpr int kSignBinding = 6;

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text), lexer_(text) {
    if (text.size() > kLongest) throw UsageError("the formula is longer than 100000 characters");
    advance();
  }

  Formula formula() {
    Formula out;
    out.text = text_;
    if (token_.kind == TokenKind::end) fail("the formula is empty; write response ~ predictors");
    if (is("~")) fail("there is no response before '~'");
    out.response = expression(0);
    if (!is("~"))
      fail(token_.kind == TokenKind::end ? "there is no '~'; write response ~ predictors" : unexpected());
    advance();
    if (token_.kind == TokenKind::end) fail("there is nothing after '~'; for an intercept alone write ~ 1");
    out.predictors = expression(0);
    if (token_.kind != TokenKind::end) fail(is("~") ? "there is a second '~'" : unexpected());
    return out;
  }

  Node whole_expression() {
    Node out = expression(0);
    if (token_.kind != TokenKind::end) fail(unexpected());
    return out;
  }

 private:
  bool is(std::string_view op) const { return token_.kind == TokenKind::op && token_.text == op; }
  void advance() { token_ = lexer_.next(); }
  [[noreturn]] void fail(const std::string& sentence) const {
    throw FormulaError(sentence, text_, token_.position);
  }
  std::string unexpected() const {
    if (token_.kind == TokenKind::end) return "the formula breaks off";
    if (is(")")) return "there is no '(' for this ')'";
    if (token_.kind == TokenKind::op) return fmt::format("'{}' cannot stand here", token_.text);
    return "an operator such as '+' is missing here; a name with spaces is put in backticks";
  }

  void check_operand_follows(const std::string& op) const {
    const bool ends = token_.kind == TokenKind::end;
    if ((op == "|" || op == "||") && (ends || is(")")))
      fail(fmt::format("the group is missing after '{}', as in (1 {} school)", op, op));
    if (is(")") || is(",") || is("~")) fail(fmt::format("there is nothing after '{}'", op));
  }

  Node expression(int least) {
    if (++depth_ > kDeepest) fail("the formula is nested too deeply");
    Node left = operand();
    while (token_.kind == TokenKind::op) {
      const std::optional<int> strength = binding(token_.text);
      if (!strength || *strength < least) break;
      Node node;
      node.kind = NodeKind::binary;
      node.name = token_.text;
      node.position = token_.position;
      advance();
      check_operand_follows(node.name);
      // ^ associates to the right, and a sign may follow it.
      node.children.push_back(std::move(left));
      node.children.push_back(expression(node.name == "^" ? kSignBinding : *strength + 1));
      left = std::move(node);
    }
    --depth_;
    return left;
  }

  Node operand() {
    Node node;
    node.position = token_.position;
    if (is("-") || is("+")) {
      const bool negative = is("-");
      advance();
      Node inner = expression(kSignBinding);
      if (!negative) return inner;
      node.kind = NodeKind::negate;
      node.name = '-';
      node.children.push_back(std::move(inner));
      return node;
    }
    if (is("(")) return parenthesised();
    switch (token_.kind) {
      case TokenKind::number:
        node.value = token_.value;
        break;
      case TokenKind::text:
        node.kind = NodeKind::text;
        node.name = token_.text;
        break;
      case TokenKind::name:
        return name_or_call();
      default:
        fail(unexpected());
    }
    advance();
    return node;
  }

  Node parenthesised() {
    const std::size_t opened = token_.position;
    advance();
    if (is(")")) fail("there is nothing between '(' and ')'");
    if (is("|") || is("||"))
      fail(fmt::format("there is no effect before '{}'; for an intercept write (1 {} school)", token_.text,
                       token_.text));
    Node inner = expression(0);
    if (!is(")")) {
      if (token_.kind == TokenKind::end) throw FormulaError("this '(' is never closed", text_, opened);
      fail(unexpected());
    }
    advance();
    inner.parenthesised = true;
    return inner;
  }

  Node name_or_call() {
    Node node;
    node.kind = NodeKind::name;
    node.name = token_.text;
    node.position = token_.position;
    advance();
    if (!is("(")) return node;
    const std::size_t opened = token_.position;
    node.kind = NodeKind::call;
    advance();
    while (!is(")")) {
      node.children.push_back(argument());
      if (is(",")) {
        advance();
        if (is(")")) fail("an argument is missing after ','");
      } else if (!is(")")) {
        if (token_.kind == TokenKind::end) throw FormulaError("this '(' is never closed", text_, opened);
        fail(unexpected());
      }
    }
    advance();
    return node;
  }

  Node argument() {
    Node value = expression(0);
    if (!is("=")) return value;
    if (value.kind != NodeKind::name || value.parenthesised)
      fail("before '=' there must be an argument's name");
    advance();
    if (is(")") || is(",")) fail(fmt::format("there is nothing after '{}='", value.name));
    std::string label = std::move(value.name);
    value = expression(0);
    value.label = std::move(label);
    return value;
  }

  const std::string& text_;
  Lexer lexer_;
  Token token_;
  int depth_ = 0;
};

int strength_of(const Node& node) {
  if (node.kind == NodeKind::binary) return *binding(node.name);
  if (node.kind == NodeKind::negate || (node.kind == NodeKind::number && node.value < 0)) return kSignBinding;
  return 10;
}

std::string operand_text(const Node& node, int least) {
  const std::string text = to_string(node);
  return strength_of(node) < least ? "(" + text + ")" : text;
}

}  // namespace

std::string quoted_name(const std::string& name) {
  const bool plain = !name.empty() && starts_name(name[0]) &&
                     std::all_of(name.begin(), name.end(), in_name) &&
                     !(name.size() > 1 && name[0] == '.' && is_digit(name[1]));
  return plain ? name : "`" + name + "`";
}

std::string to_string(const Node& node) {
  switch (node.kind) {
    case NodeKind::number:
      return table::number_text(node.value);
    case NodeKind::name:
      return quoted_name(node.name);
    case NodeKind::text:
      return node.name.find('"') == std::string::npos ? "\"" + node.name + "\"" : "'" + node.name + "'";
    case NodeKind::negate:
      return fmt::format("-{}", operand_text(node.children[0], kSignBinding));
    case NodeKind::call: {
      std::string text = quoted_name(node.name) + "(";
      for (std::size_t i = 0; i < node.children.size(); ++i) {
        const Node& argument = node.children[i];
        if (i > 0) text += ", ";
        if (!argument.label.empty()) text += quoted_name(argument.label) + "=";
        text += to_string(argument);
      }
      return text + ")";
    }
    case NodeKind::binary:
      break;
  }
  const int strength = *binding(node.name);
  const bool power = node.name == "^";
  const std::string left = operand_text(node.children[0], strength + (power ? 1 : 0));
  const std::string right = operand_text(node.children[1], power ? kSignBinding : strength + 1);
  return power || node.name == ":" ? left + node.name + right : left + " " + node.name + " " + right;
}

Node parse_expression(const std::string& text) { return Parser(text).whole_expression(); }

Formula parse(const std::string& text) { return Parser(text).formula(); }

}  // namespace magva::formula
