#include "magva/response_family.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "magva/error.hpp"
#include "models/pointwise_family.hpp"

namespace magva {

namespace {

struct FamilyEntry {
  Distribution family;
  const char* name;
  std::vector<const char*> other_names;
  std::vector<Link> links;  // the default first
  std::vector<const char*> own;
};

const std::vector<FamilyEntry>& families() {
  static const std::vector<FamilyEntry> all = {
      {Distribution::gaussian, "gaussian", {"normal"}, {Link::identity}, {"sigma"}},
      {Distribution::student_t,
       "student_t",
       {"student", "student-t", "t"},
       {Link::identity},
       {"sigma", "nu"}},
      {Distribution::bernoulli, "bernoulli", {}, {Link::logit, Link::probit, Link::cloglog}, {}},
      {Distribution::binomial, "binomial", {}, {Link::logit, Link::probit, Link::cloglog}, {}},
      {Distribution::poisson, "poisson", {}, {Link::log}, {}},
      {Distribution::negative_binomial,
       "negative_binomial",
       {"negbinomial", "negbin", "neg_binomial_2", "nbinom2", "negative-binomial"},
       {Link::log},
       {"shape"}},
      {Distribution::gamma, "gamma", {"Gamma"}, {Link::log}, {"shape"}},
      {Distribution::weibull, "weibull", {}, {Link::log}, {"shape"}},
      {Distribution::exponential, "exponential", {}, {Link::log}, {}},
      {Distribution::ordered, "ordered", {"cumulative", "ordinal"}, {Link::logit}, {}},
      {Distribution::categorical, "categorical", {"multinomial"}, {Link::logit}, {}},
  };
  return all;
}

const FamilyEntry& entry_of(Distribution family) {
  return *std::find_if(families().begin(), families().end(),
                       [&](const FamilyEntry& entry) { return entry.family == family; });
}

struct LinkName {
  Link link;
  const char* name;
};
constexpr LinkName kLinkNames[] = {{Link::identity, "identity"},
                                   {Link::log, "log"},
                                   {Link::logit, "logit"},
                                   {Link::probit, "probit"},
                                   {Link::cloglog, "cloglog"}};

/// Of the responses, or 1 where that says nothing about their scale.
double scale_of_response(ConstVectorRef y, ConstVectorRef weights) {
  const Vector w = weights.size() == y.size() ? Vector(weights) : Vector(Vector::Ones(y.size()));
  const double mean = w.dot(y) / w.sum();
  const double sd = std::sqrt(w.dot((y.array() - mean).square().matrix()) / w.sum());
  return sd > 0 && std::isfinite(sd) ? sd : 1.0;
}

bool is_count(double y) { return y >= 0 && y == std::floor(y) && std::isfinite(y); }

/// What is wrong with a row, as the end of a sentence; empty if nothing is.
std::string fault_of(Distribution family, const detail::Row& row) {
  switch (family) {
    case Distribution::bernoulli:
      if (row.y != 0 && row.y != 1) return "0 or 1 for the family bernoulli";
      break;
    case Distribution::binomial:
      if (!is_count(row.y) || row.y > row.trials)
        return fmt::format("a count of successes out of {} trials for the family binomial", row.trials);
      break;
    case Distribution::poisson:
    case Distribution::negative_binomial:
      if (!is_count(row.y)) return fmt::format("a count (0, 1, 2, ...) for the family {}", to_string(family));
      break;
    case Distribution::gamma:
    case Distribution::weibull:
    case Distribution::exponential:
      if (!(row.y > 0 && std::isfinite(row.y)))
        return fmt::format("positive for the family {}", to_string(family));
      break;
    default:
      if (!std::isfinite(row.y)) return "a finite number";
  }
  return {};
}

}  // namespace

std::string to_string(Distribution family) { return entry_of(family).name; }

std::string to_string(Link link) {
  for (const LinkName& known : kLinkNames)
    if (known.link == link) return known.name;
  return {};
}

Distribution parse_distribution(std::string_view name) {
  std::vector<std::string> known;
  for (const FamilyEntry& entry : families()) {
    const auto& others = entry.other_names;
    if (name == entry.name || std::find(others.begin(), others.end(), name) != others.end())
      return entry.family;
    known.emplace_back(entry.name);
  }
  throw UsageError(
      fmt::format("there is no response family '{}'; there are {}", name, fmt::join(known, ", ")));
}

Link parse_link(std::string_view name) {
  std::vector<std::string> all;
  for (const LinkName& known : kLinkNames) {
    if (name == known.name) return known.link;
    all.emplace_back(known.name);
  }
  throw UsageError(fmt::format("there is no link '{}'; there are {}", name, fmt::join(all, ", ")));
}

Link default_link(Distribution family) { return entry_of(family).links.front(); }

void check_link(Distribution family, Link link) {
  const std::vector<Link>& links = entry_of(family).links;
  if (std::find(links.begin(), links.end(), link) != links.end()) return;
  std::vector<std::string> names;
  for (const Link one : links) names.push_back(to_string(one));
  throw UsageError(fmt::format("the family {} has no link {}; it has {}", to_string(family), to_string(link),
                               fmt::join(names, ", ")));
}

bool allows_censoring(Distribution family) {
  return family == Distribution::weibull || family == Distribution::exponential;
}

std::vector<OwnParameter> default_own_parameters(Distribution family, ConstVectorRef response,
                                                 ConstVectorRef weights) {
  std::vector<OwnParameter> own;
  for (const std::string name : entry_of(family).own) {
    if (name == "sigma")
      own.push_back({name, PositivePrior::exponential(1 / scale_of_response(response, weights))});
    else if (name == "nu")
      own.push_back({name, PositivePrior::gamma(2, .1)});
    else if (family == Distribution::negative_binomial)
      own.push_back({name, PositivePrior::inverse_gamma(.4, .3)});
    else
      own.push_back({name, PositivePrior::gamma(.01, .01)});
  }
  return own;
}

std::vector<std::string> ResponseFamily::validate(const ResponseRows& rows) const {
  for (Index i = 0; i < rows.rows; ++i) {
    const detail::Row row = detail::row_of(rows, i);
    if (!is_count(row.trials) || row.trials == 0)
      return {
          fmt::format("the number of trials in row {} is {}, but it must be 1, 2, ...", i + 1, row.trials)};
    if (row.event != 0 && row.event != 1)
      return {fmt::format("the status in row {} is {}, but it must be 1 (event) or 0 (right-censored)", i + 1,
                          row.event)};
    if (row.event == 0 && !allows_censoring(family_))
      return {
          fmt::format("row {} is censored, but the family {} takes no censored rows; use weibull or "
                      "exponential",
                      i + 1, to_string(family_))};
    if (const std::string wanted = fault_of(family_, row); !wanted.empty())
      return {fmt::format("the response in row {} is {}, but it must be {}", i + 1, row.y, wanted)};
  }
  return {};
}

Vector ResponseFamily::own_start(const ResponseRows& rows, ConstVectorRef weights) const {
  Vector start(own_count());
  for (Index k = 0; k < own_count(); ++k) {
    const OwnParameter& parameter = own_[static_cast<std::size_t>(k)];
    const Eigen::Map<const Vector> response(rows.response, rows.rows);
    if (parameter.name == "sigma")
      start(k) = std::log(scale_of_response(response, weights));
    else if (parameter.name == "nu")
      start(k) = std::log(10.0);
    else
      start(k) = 0;
  }
  return start;
}

bool ResponseFamily::discrete() const {
  return family_ == Distribution::bernoulli || family_ == Distribution::binomial ||
         family_ == Distribution::poisson || family_ == Distribution::negative_binomial ||
         family_ == Distribution::ordered;
}

std::shared_ptr<const ResponseFamily> make_response_family(Distribution family, Link link,
                                                           std::vector<OwnParameter> own) {
  check_link(family, link);
  const auto& names = entry_of(family).own;
  const bool matching =
      std::equal(own.begin(), own.end(), names.begin(), names.end(),
                 [](const OwnParameter& given, const char* name) { return given.name == name; });
  if (!matching)
    throw UsageError(fmt::format("the family {} needs a prior for each of its own parameters ({})",
                                 to_string(family),
                                 names.empty() ? "it has none" : fmt::format("{}", fmt::join(names, ", "))));
  switch (family) {
    case Distribution::gaussian:
      return detail::gaussian_family(std::move(own));
    case Distribution::student_t:
      return detail::student_t_family(std::move(own));
    case Distribution::bernoulli:
    case Distribution::binomial:
      return detail::binomial_family(family, link);
    case Distribution::poisson:
      return detail::poisson_family();
    case Distribution::negative_binomial:
      return detail::negative_binomial_family(std::move(own));
    case Distribution::gamma:
      return detail::gamma_family(std::move(own));
    case Distribution::weibull:
      return detail::weibull_family(std::move(own));
    case Distribution::exponential:
      return detail::exponential_family();
    case Distribution::ordered:
    case Distribution::categorical:
      break;
  }
  throw UsageError(
      fmt::format("the family {} needs its number of classes: it is a model of its own", to_string(family)));
}

}  // namespace magva
