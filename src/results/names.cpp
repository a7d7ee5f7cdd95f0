#include "results/names.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace magva::results {

namespace {

struct Element {
  std::string base;
  std::vector<std::size_t> index;  ///< from 1
};

std::optional<std::size_t> whole_number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && value > 0;
  return whole ? std::optional(value) : std::nullopt;
}

/// theta[3] is element 3 of theta; z[2,real] is element 2 of z.real. Indices in the middle of a name, as in
/// pairs[4].2[3], come first.
Element parse(const std::string& name) {
  Element element;
  std::string part_of_complex;
  std::string_view rest = name;
  while (!rest.empty()) {
    const auto open = rest.find('[');
    element.base += rest.substr(0, open);
    if (open == std::string_view::npos) break;
    const auto close = rest.find(']', open);
    if (close == std::string_view::npos) return {name, {}};
    std::string_view list = rest.substr(open + 1, close - open - 1);
    rest.remove_prefix(close + 1);
    while (!list.empty()) {
      const auto comma = list.find(',');
      const std::string_view item = list.substr(0, comma);
      if (const auto number = whole_number(item)) {
        element.index.push_back(*number);
      } else if ((item == "real" || item == "imag") && comma == std::string_view::npos && rest.empty()) {
        part_of_complex = item;
      } else {
        return {name, {}};
      }
      list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    }
  }
  if (!part_of_complex.empty()) element.base += "." + part_of_complex;
  return element;
}

class ElementGroup {
 public:
  void add(const Element& element, Index row) {
    ranks_equal_ = ranks_equal_ && (elements_.empty() || element.index.size() == shape_.size());
    shape_.resize(std::max(shape_.size(), element.index.size()), 0);
    for (std::size_t d = 0; d < element.index.size(); ++d) shape_[d] = std::max(shape_[d], element.index[d]);
    elements_.emplace_back(element.index, row);
  }

  /// The array, if every element is there once.
  std::optional<Variable> array(const std::string& name) const {
    double size = 1;
    for (const auto extent : shape_) size *= static_cast<double>(extent);
    if (!ranks_equal_ || size != static_cast<double>(elements_.size())) return std::nullopt;
    Variable variable{name, shape_, std::vector<Index>(elements_.size(), -1)};
    for (const auto& [index, row] : elements_) variable.rows[place(index)] = row;
    const bool complete = std::find(variable.rows.begin(), variable.rows.end(), -1) == variable.rows.end();
    return complete ? std::optional(variable) : std::nullopt;
  }

  const std::vector<std::pair<std::vector<std::size_t>, Index>>& elements() const { return elements_; }

 private:
  std::size_t place(const std::vector<std::size_t>& index) const {
    std::size_t at = 0;
    for (std::size_t d = 0; d < index.size(); ++d) at = at * shape_[d] + index[d] - 1;
    return at;
  }

  bool ranks_equal_ = true;
  std::vector<std::size_t> shape_;
  std::vector<std::pair<std::vector<std::size_t>, Index>> elements_;
};

}  // namespace

std::vector<Variable> group_variables(const std::vector<std::string>& names) {
  std::vector<std::string> order;
  std::map<std::string, ElementGroup> groups;
  for (std::size_t row = 0; row < names.size(); ++row) {
    const Element element = parse(names[row]);
    if (!groups.contains(element.base)) order.push_back(element.base);
    groups[element.base].add(element, static_cast<Index>(row));
  }
  std::vector<Variable> variables;
  for (const auto& base : order) {
    const ElementGroup& group = groups.at(base);
    if (auto array = group.array(base)) {
      variables.push_back(std::move(*array));
      continue;
    }
    for (const auto& [index, row] : group.elements())
      variables.push_back({names[static_cast<std::size_t>(row)], {}, {row}});
  }
  return variables;
}

std::string cmdstan_name(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (c == ']') continue;
    out += c == '.' ? ':' : c == '[' || c == ',' ? '.' : c;
  }
  return out.empty() ? name : out;
}

namespace {

bool may_start(unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c >= 0x80; }

std::string allowed(std::string name) {
  if (name == "(Intercept)") return "Intercept";
  std::replace(name.begin(), name.end(), '/', '_');
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '_');
  while (!name.empty() && name.back() == ' ') name.pop_back();
  return name.empty() || !may_start(static_cast<unsigned char>(name.front())) ? "_" + name : name;
}

}  // namespace

std::vector<std::string> netcdf_names(std::vector<std::string> names) {
  std::set<std::string> taken;
  for (auto& name : names) {
    name = allowed(name);
    while (!taken.insert(name).second) name += "_";
  }
  return names;
}

}  // namespace magva::results
