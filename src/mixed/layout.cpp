#include "mixed/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "magva/error.hpp"
#include "models/cut_points.hpp"

namespace magva::mixed {

namespace {

// A search starts from sds of this share of their prior's scale.
constexpr double kStartShare = .4;

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

void check_horseshoes(const MixedPriors& priors, Index coefficients) {
  Index end = 0;
  MixedPriors smooths_alone;
  smooths_alone.smooths = priors.smooths;
  for (const ShrinkagePrior& horseshoe : priors.horseshoes) {
    if (horseshoe.first < end || horseshoe.count < 1 || horseshoe.first + horseshoe.count > coefficients)
      throw UsageError("the columns of a horseshoe prior are not columns of the design, one after the other");
    for (const double scale : {horseshoe.global_scale, horseshoe.slab_scale.value_or(1)})
      if (!(scale > 0) || !std::isfinite(scale))
        throw UsageError("the scales of a horseshoe prior must be positive and finite");
    end = horseshoe.first + horseshoe.count;
    for (Index j = horseshoe.first; j < end; ++j)
      if (has_unknown_sd(smooths_alone, j))
        throw UsageError(
            "a horseshoe prior cannot shrink what bends a smooth term, which has an sd of its own");
  }
}

/// Row k of `rows` is filled with row[k] of the design, or with row first + k if there are no such numbers.
struct RowReader {
  Index first;
  const Index* row;
  RowMatrix& rows;

  Index at(Index k) const { return row ? row[first + k] : first + k; }
  template <class Scalar>
  void operator()(const DenseRows<Scalar>& dense) const {
    for (Index k = 0; k < rows.rows(); ++k) {
      const Scalar* from = dense.data + at(k) * dense.stride;
      for (Index j = 0; j < dense.cols; ++j) rows(k, j) = static_cast<double>(from[j]);
    }
  }
  void operator()(const SparseRows& sparse) const {
    rows.setZero();
    for (Index k = 0; k < rows.rows(); ++k)
      for (std::int64_t e = sparse.starts[at(k)]; e < sparse.starts[at(k) + 1]; ++e)
        rows(k, sparse.columns[e]) = sparse.values[e];
  }
};

}  // namespace

bool Problem::student(Index j) const {
  return priors.degrees_of_freedom.size() > 0 && std::isfinite(priors.degrees_of_freedom(j)) &&
         !unknown_sd(j);
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
  if (data.terms.empty() && problem.priors.smooths.empty())
    throw DataError("a mixed model needs a group term, such as (1 | school), or a smooth one");
  for (const GroupTerm& term : data.terms) check_term(term, rows);
  if (!data.names.empty() && static_cast<Index>(data.names.size()) != problem.coefficients())
    throw DataError(
        fmt::format("there are {} names for {} coefficients", data.names.size(), problem.coefficients()));
  check_priors(problem.priors, problem.coefficients(), data.terms.size());
  check_smooths(problem.priors.smooths, problem.coefficients());
  check_horseshoes(problem.priors, problem.coefficients());
  if (!problem.family) return;
  const std::vector<std::string> faults = problem.family->validate(problem.response());
  if (!faults.empty()) throw DataError(faults.front());
}

void read_rows(const Design& design, Index first, RowMatrix& rows) {
  std::visit(RowReader{first, nullptr, rows}, design.storage());
}

void read_rows(const Problem& problem, Index first, RowMatrix& rows) {
  const Index* row = problem.row_of_design.empty() ? nullptr : problem.row_of_design.data();
  std::visit(RowReader{first, row, rows}, problem.data.design.storage());
}

namespace {

std::vector<std::string> all_coefficient_names(const Problem& problem) {
  std::vector<std::string> names;
  for (Index j = 0; j < problem.coefficients(); ++j) names.push_back(coefficient_name(problem, j));
  return names;
}

}  // namespace

HyperParameters::HyperParameters(const Problem& problem)
    : sds_(problem.priors, all_coefficient_names(problem)) {
  if (problem.family) {
    own_ = problem.family->own();
    own_count_ = problem.family->own_count();
    if (problem.family->distribution() == Distribution::ordered)
      cuts_ = std::make_shared<const detail::CutPoints>(own_count_, CutPointPrior{});
  }
  size_ = own_count_;
  for (std::size_t k = 0; k < problem.data.terms.size(); ++k) {
    scales_.emplace_back(problem.data.terms[k], problem.priors.sd_scale[k], problem.priors.lkj);
    begin_.push_back(size_);
    size_ += scales_.back().coordinates();
  }
  size_ += sds_.size();
}

Vector HyperParameters::own_values(const double* at) const {
  Vector values(own_count_);
  if (cuts_)
    cuts_->at(at, values.data());
  else
    std::copy_n(at, own_count_, values.data());
  return values;
}

void HyperParameters::add_own_gradient(const double* at, ConstVectorRef by_own, double* gradient) const {
  if (cuts_)
    cuts_->add_gradient(at, by_own.data(), gradient);
  else
    for (Index k = 0; k < own_count_; ++k) gradient[k] += by_own(k);
}

double HyperParameters::log_prior(const double* at, double* gradient) const {
  double sum = cuts_ ? cuts_->add_log_prior(at, gradient) : 0;
  for (std::size_t k = 0; k < own_.size(); ++k) {
    const LogScaleDensity density = own_[k].prior.at(at[k]);
    sum += density.value;
    gradient[k] += density.first;
  }
  for (std::size_t k = 0; k < scales_.size(); ++k)
    sum += scales_[k].log_prior(at + begin_[k], gradient + begin_[k]);
  return sum + sds_.log_prior(at + sds_at(), gradient + sds_at());
}

Vector HyperParameters::start(const Problem& problem) const {
  Vector start = Vector::Zero(size_);
  if (own_count_ > 0) {
    const Vector own = problem.family->own_start(problem.response(), problem.data.weights);
    if (cuts_)
      cuts_->coordinates_of(own.data(), start.data());
    else
      start.head(own_count_) = own;
  }
  for (std::size_t k = 0; k < scales_.size(); ++k)
    start.segment(begin_[k], scales_[k].effects()) = (kStartShare * problem.priors.sd_scale[k]).array().log();
  sds_.start(start.data() + sds_at());
  return start;
}

std::vector<std::string> HyperParameters::coordinate_names() const {
  std::vector<std::string> names;
  for (Index k = 0; cuts_ && k < own_count_; ++k) names.push_back(cuts_->coordinate_name(k));
  for (const OwnParameter& own : own_) names.push_back("log_" + own.name);
  for (const EffectScale& scale : scales_)
    for (std::string& name : scale.coordinate_names()) names.push_back(std::move(name));
  for (const std::string& name : sds_.names()) names.push_back("log_" + name);
  return names;
}

std::vector<std::string> HyperParameters::quantity_names() const {
  std::vector<std::string> names;
  for (Index k = 0; cuts_ && k < own_count_; ++k) names.push_back(detail::CutPoints::name(k));
  for (const OwnParameter& own : own_) names.push_back(own.name);
  for (const EffectScale& scale : scales_)
    for (std::string& name : scale.quantity_names()) names.push_back(std::move(name));
  for (std::string& name : sds_.names()) names.push_back(std::move(name));
  return names;
}

void HyperParameters::quantities(const double* at, double* out) const {
  Eigen::Map<Vector> own(out, own_count_);
  own = own_values(at);
  if (!cuts_) own = own.array().exp();
  out += own_count_;
  for (std::size_t k = 0; k < scales_.size(); ++k) {
    scales_[k].quantities(at + begin_[k], out);
    out += scales_[k].coordinates();
  }
  for (Index k = sds_at(); k < size_; ++k) *out++ = std::exp(at[k]);
}

Vector coefficient_sds(const Problem& problem, const HyperParameters& hyper, const double* at,
                       const double* log_lambda) {
  Vector sds = problem.priors.scale;
  hyper.sds().set(at + hyper.sds_at(), sds);
  for (Index j = 0; j < sds.size(); ++j)
    if (problem.student(j)) sds(j) *= std::exp(.5 * *log_lambda++);
  return sds;
}

StudentFactors::StudentFactors(const Problem& problem) {
  for (Index j = 0; j < problem.coefficients(); ++j) {
    if (!problem.student(j)) continue;
    const double half = .5 * problem.priors.degrees_of_freedom(j);
    coefficient_.push_back(j);
    prior_.push_back(PositivePrior::inverse_gamma(half, half));
  }
}

double StudentFactors::log_prior(const double* at, double* gradient) const {
  double sum = 0;
  for (std::size_t k = 0; k < prior_.size(); ++k) {
    const LogScaleDensity density = prior_[k].at(at[k]);
    sum += density.value;
    gradient[k] += density.first;
  }
  return sum;
}

void StudentFactors::add_gradient(ConstVectorRef by_log_sd, double* gradient) const {
  for (std::size_t k = 0; k < coefficient_.size(); ++k) gradient[k] += .5 * by_log_sd(coefficient_[k]);
}

const char* integrated_effects(const Problem& problem) {
  return problem.data.terms.empty() ? "coefficients" : "group effects and coefficients";
}

std::string parameters_left(Index count) {
  return count == 1 ? "1 parameter is left" : fmt::format("{} parameters are left", count);
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
