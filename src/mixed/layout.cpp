#include "mixed/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "magva/error.hpp"

namespace magva::mixed {

namespace {

// A search starts from sds of this share of their prior's scale.
constexpr double kStartShare = .4;
constexpr double kSmoothDegreesOfFreedom = 3;

void check_length(const char* what, Index length, Index rows) {
  if (length != 0 && length != rows)
    throw DataError(fmt::format("{} has {} values for {} rows: give one for each row", what, length, rows));
}

void check_finite(const char* what, ConstVectorRef values) {
  for (Index i = 0; i < values.size(); ++i)
    if (!std::isfinite(values(i)))
      throw DataError(fmt::format("{} is {} in row {} and must be a number", what, values(i), i + 1));
}

void check_term(const GroupTerm& term, Index rows) {
  if (static_cast<Index>(term.group.size()) != rows)
    throw DataError(fmt::format("group {} is given for {} of {} rows", term.name, term.group.size(), rows));
  if (term.level_count() < 2)
    throw DataError(fmt::format("group {} has {} level: the sd of group effects needs at least two",
                                term.name, term.level_count()));
  for (std::size_t i = 0; i < term.group.size(); ++i)
    if (term.group[i] < 0 || term.group[i] >= term.level_count())
      throw DataError(fmt::format("group {} has level {} in row {}, and must be between 0 and {}", term.name,
                                  term.group[i], i + 1, term.level_count() - 1));
  if (term.z.cols() > 0 && term.z.rows() != rows)
    throw DataError(
        fmt::format("the effects of group {} have {} rows instead of {}", term.name, term.z.rows(), rows));
  if (!term.z.allFinite())
    throw DataError(fmt::format("an effect of group {} has a value that is not finite", term.name));
  if (!term.effects.empty() && static_cast<Index>(term.effects.size()) != term.effect_count())
    throw DataError(fmt::format("group {} has {} names for {} effects", term.name, term.effects.size(),
                                term.effect_count()));
}

void check_priors(const MixedPriors& priors, Index coefficients, std::size_t terms) {
  if (priors.location.size() != coefficients || priors.scale.size() != coefficients)
    throw UsageError(fmt::format("the priors have {} locations and {} scales for {} coefficients",
                                 priors.location.size(), priors.scale.size(), coefficients));
  if (!priors.location.allFinite()) throw UsageError("the location of a coefficient's prior is not finite");
  if (!((priors.scale.array() > 0).all() && priors.scale.allFinite()))
    throw UsageError("the scale of a coefficient's prior must be positive and finite");
  if (priors.degrees_of_freedom.size() != 0 &&
      (priors.degrees_of_freedom.size() != coefficients || !(priors.degrees_of_freedom.array() > 0).all()))
    throw UsageError("degrees of freedom of the priors must be positive, one for each coefficient");
  if (priors.sd_scale.size() != terms)
    throw UsageError(
        fmt::format("the priors have scales of sds for {} of {} terms", priors.sd_scale.size(), terms));
}

void check_smooths(const std::vector<SmoothPrior>& smooths, Index coefficients) {
  Index end = 0;
  for (const SmoothPrior& smooth : smooths) {
    if (smooth.first < end || smooth.count < 1 || smooth.first + smooth.count > coefficients)
      throw UsageError(
          fmt::format("the columns of {} are not columns of the design, one after the other", smooth.name));
    if (!(smooth.sd_scale > 0) || !std::isfinite(smooth.sd_scale))
      throw UsageError(
          fmt::format("the scale of the prior of sd({}) must be positive and finite", smooth.name));
    end = smooth.first + smooth.count;
  }
}

struct RowReader {
  Index first;
  RowMatrix& rows;
  template <class Scalar>
  void operator()(const DenseRows<Scalar>& dense) const {
    for (Index i = 0; i < rows.rows(); ++i)
      for (Index j = 0; j < dense.cols; ++j)
        rows(i, j) = static_cast<double>(dense.data[(first + i) * dense.stride + j]);
  }
  void operator()(const SparseRows& sparse) const {
    rows.setZero();
    for (Index i = 0; i < rows.rows(); ++i)
      for (std::int64_t k = sparse.starts[first + i]; k < sparse.starts[first + i + 1]; ++k)
        rows(i, sparse.columns[k]) = sparse.values[k];
  }
};

}  // namespace

bool Problem::student(Index j) const {
  return priors.degrees_of_freedom.size() > 0 && std::isfinite(priors.degrees_of_freedom(j)) && !smooth(j);
}

bool Problem::smooth(Index j) const {
  return std::any_of(priors.smooths.begin(), priors.smooths.end(), [j](const SmoothPrior& smooth) {
    return j >= smooth.first && j < smooth.first + smooth.count;
  });
}

ResponseRows Problem::response() const {
  return {data.response.data(), data.trials.size() > 0 ? data.trials.data() : nullptr,
          data.status.size() > 0 ? data.status.data() : nullptr, rows()};
}

void check_problem(const Problem& problem) {
  const MixedData& data = problem.data;
  const Index rows = problem.rows();
  if (rows == 0) throw DataError("the data have no rows");
  if (data.design.rows() != rows)
    throw DataError(fmt::format("the design has {} rows and the response {}", data.design.rows(), rows));
  check_length("trials", data.trials.size(), rows);
  check_length("status", data.status.size(), rows);
  check_length("offset", data.offset.size(), rows);
  check_length("weights", data.weights.size(), rows);
  check_finite("the response", data.response);
  check_finite("the offset", data.offset);
  check_finite("a weight", data.weights);
  if (data.weights.size() > 0 && !(data.weights.array() >= 0).all())
    throw DataError("a weight is negative: weights say how often a row counts");
  if (data.terms.empty()) throw DataError("a mixed model needs a group term, such as (1 | school)");
  for (const GroupTerm& term : data.terms) check_term(term, rows);
  if (!data.names.empty() && static_cast<Index>(data.names.size()) != problem.coefficients())
    throw DataError(
        fmt::format("there are {} names for {} coefficients", data.names.size(), problem.coefficients()));
  check_priors(problem.priors, problem.coefficients(), data.terms.size());
  check_smooths(problem.priors.smooths, problem.coefficients());
  const std::vector<std::string> faults = problem.family->validate(problem.response());
  if (!faults.empty()) throw DataError(faults.front());
}

void read_rows(const Design& design, Index first, RowMatrix& rows) {
  std::visit(RowReader{first, rows}, design.storage());
}

HyperParameters::HyperParameters(const Problem& problem) : own_(problem.family->own()) {
  size_ = own_count();
  for (std::size_t k = 0; k < problem.data.terms.size(); ++k) {
    scales_.emplace_back(problem.data.terms[k], problem.priors.sd_scale[k], problem.priors.lkj);
    begin_.push_back(size_);
    size_ += scales_.back().coordinates();
  }
  for (const SmoothPrior& smooth : problem.priors.smooths)
    smooths_.push_back({smooth.name, PositivePrior::half_student_t(kSmoothDegreesOfFreedom, smooth.sd_scale),
                        std::log(kStartShare * smooth.sd_scale)});
  size_ += static_cast<Index>(smooths_.size());
}

double HyperParameters::log_prior(const double* at, double* gradient) const {
  double sum = 0;
  for (std::size_t k = 0; k < own_.size(); ++k) {
    const LogScaleDensity density = own_[k].prior.at(at[k]);
    sum += density.value;
    gradient[k] += density.first;
  }
  for (std::size_t k = 0; k < scales_.size(); ++k)
    sum += scales_[k].log_prior(at + begin_[k], gradient + begin_[k]);
  for (std::size_t k = 0; k < smooths_.size(); ++k) {
    const LogScaleDensity density = smooths_[k].prior.at(at[smooth_at(k)]);
    sum += density.value;
    gradient[smooth_at(k)] += density.first;
  }
  return sum;
}

Vector HyperParameters::start(const Problem& problem) const {
  Vector start = Vector::Zero(size_);
  if (!own_.empty())
    start.head(own_count()) = problem.family->own_start(problem.response(), problem.data.weights);
  for (std::size_t k = 0; k < scales_.size(); ++k)
    start.segment(begin_[k], scales_[k].effects()) = (kStartShare * problem.priors.sd_scale[k]).array().log();
  for (std::size_t k = 0; k < smooths_.size(); ++k) start(smooth_at(k)) = smooths_[k].start;
  return start;
}

std::vector<std::string> HyperParameters::coordinate_names() const {
  std::vector<std::string> names;
  for (const OwnParameter& own : own_) names.push_back("log_" + own.name);
  for (const EffectScale& scale : scales_)
    for (std::string& name : scale.coordinate_names()) names.push_back(std::move(name));
  for (const SmoothSd& smooth : smooths_) names.push_back(fmt::format("log_sd({})", smooth.name));
  return names;
}

std::vector<std::string> HyperParameters::quantity_names() const {
  std::vector<std::string> names;
  for (const OwnParameter& own : own_) names.push_back(own.name);
  for (const EffectScale& scale : scales_)
    for (std::string& name : scale.quantity_names()) names.push_back(std::move(name));
  for (const SmoothSd& smooth : smooths_) names.push_back(fmt::format("sd({})", smooth.name));
  return names;
}

void HyperParameters::quantities(const double* at, double* out) const {
  for (Index k = 0; k < own_count(); ++k) *out++ = std::exp(at[k]);
  for (std::size_t k = 0; k < scales_.size(); ++k) {
    scales_[k].quantities(at + begin_[k], out);
    out += scales_[k].coordinates();
  }
  for (std::size_t k = 0; k < smooths_.size(); ++k) *out++ = std::exp(at[smooth_at(k)]);
}

Vector coefficient_sds(const Problem& problem, const HyperParameters& hyper, const double* at,
                       const double* log_lambda) {
  Vector sds = problem.priors.scale;
  for (std::size_t k = 0; k < problem.priors.smooths.size(); ++k) {
    const SmoothPrior& smooth = problem.priors.smooths[k];
    sds.segment(smooth.first, smooth.count).setConstant(std::exp(at[hyper.smooth_at(k)]));
  }
  for (Index j = 0; j < sds.size(); ++j)
    if (problem.student(j)) sds(j) *= std::exp(.5 * *log_lambda++);
  return sds;
}

std::string coefficient_name(const Problem& problem, Index j) {
  if (problem.data.names.empty()) return fmt::format("beta[{}]", j + 1);
  return problem.data.names[static_cast<std::size_t>(j)];
}

std::vector<std::string> population_names(const Problem& problem, const HyperParameters& hyper) {
  std::vector<std::string> names;
  for (Index j = 0; j < problem.coefficients(); ++j) names.push_back(coefficient_name(problem, j));
  for (std::string& name : hyper.quantity_names()) names.push_back(std::move(name));
  return names;
}

std::vector<std::string> effect_names(const GroupTerm& term) {
  std::vector<std::string> names;
  for (const std::string& level : term.levels)
    for (Index k = 0; k < term.effect_count(); ++k)
      names.push_back(fmt::format("{}[{}]: {}", term.name, level, term.effect_name(k)));
  return names;
}

}  // namespace magva::mixed
