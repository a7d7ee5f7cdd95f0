#include "prediction/predict_formula.hpp"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <random>
#include <unordered_map>
#include <variant>

#include "magva/error.hpp"
#include "results/parameter_summary.hpp"
#include "source/class_reporter.hpp"
#include "source/formula_reporter.hpp"

namespace magva::prediction {

namespace {

using source::FormulaModel;

/// The rows of stored draws by name.
class NamedRows {
 public:
  explicit NamedRows(const Matrix& values, const std::vector<std::string>& names) : values_(values) {
    for (std::size_t i = 0; i < names.size(); ++i) rows_.emplace(names[i], static_cast<Index>(i));
  }
  auto operator()(const std::string& name) const {
    const auto found = rows_.find(name);
    if (found == rows_.end()) throw DataError(fmt::format("the stored draws have no '{}': fit again", name));
    return values_.row(found->second);
  }

 private:
  const Matrix& values_;
  std::unordered_map<std::string, Index> rows_;
};

/// The covariance of a group's effects, factorised, for each draw.
std::vector<Matrix> effect_factors(const formula::GroupSpec& group, const std::vector<std::string>& effects,
                                   const NamedRows& rows, Index draws) {
  const auto q = static_cast<Index>(effects.size());
  std::vector<Matrix> all(static_cast<std::size_t>(draws), Matrix::Identity(q, q));
  const auto fill = [&](Index k, Index l, const auto& values) {
    for (Index s = 0; s < draws; ++s) all[static_cast<std::size_t>(s)](k, l) = values(s);
  };
  for (Index k = 0; k < q; ++k)
    for (Index l = 0; l < k && group.correlated; ++l)
      fill(k, l,
           rows(fmt::format("cor({}: {}, {})", group.name, effects[static_cast<std::size_t>(l)],
                            effects[static_cast<std::size_t>(k)])));
  for (Matrix& factor : all) factor = Matrix(Eigen::LLT<Matrix>(factor).matrixL());
  for (Index k = 0; k < q; ++k) {
    const auto sd = rows(fmt::format("sd({}: {})", group.name, effects[static_cast<std::size_t>(k)]));
    for (Index s = 0; s < draws; ++s) all[static_cast<std::size_t>(s)].row(k) *= sd(s);
  }
  return all;
}

/// Effects of the groups of one linear predictor, whose names begin with `prefix`.
void read_groups(const FormulaModel& model, const NamedRows& rows, const std::string& prefix,
                 FormulaDraws& out) {
  for (const formula::GroupSpec& group : model.design.groups) {
    std::vector<std::string> effects = source::effect_names(model.design, group);
    for (std::string& effect : effects) effect = prefix + effect;
    const auto q = effects.size();
    Matrix own(static_cast<Index>(group.levels.size() * q), out.size());
    for (std::size_t g = 0; g < group.levels.size(); ++g)
      for (std::size_t k = 0; k < q; ++k)
        own.row(static_cast<Index>(g * q + k)) =
            rows(fmt::format("{}[{}]: {}", group.name, group.levels[g], effects[k]));
    out.effects.push_back(std::move(own));
    out.population.push_back(effect_factors(group, effects, rows, out.size()));
  }
}

Matrix read_own(const FormulaModel& model, const NamedRows& rows, Index draws) {
  if (model.family != Distribution::ordered) {
    Matrix own(static_cast<Index>(model.own.size()), draws);
    for (std::size_t k = 0; k < model.own.size(); ++k)
      own.row(static_cast<Index>(k)) = rows(model.own[k].name).array().log().matrix();
    return own;
  }
  Matrix cuts(static_cast<Index>(model.design.response.classes.size()) - 1, draws);
  for (Index k = 0; k < cuts.rows(); ++k)
    cuts.row(k) = rows(source::cut_name(static_cast<std::size_t>(k + 1)));
  return cuts;
}

FormulaDraws gaussian_draws(const FormulaModel& model, const Gaussian& posterior,
                            const PredictOptions& options) {
  const Regression regression = source::formula_without_data(model);
  const Matrix theta = options.draws_of(posterior);
  if (theta.rows() != regression.dimension())
    throw DataError("the posterior is not that of this model: fit again");
  FormulaDraws out;
  out.coefficients.resize(regression.coefficient_count(), theta.cols());
  for (Index s = 0; s < theta.cols(); ++s) regression.coefficients(theta.col(s), out.coefficients.col(s));
  out.own = theta.bottomRows(static_cast<Index>(model.own.size()));
  return out;
}

/// A group that the fit has not seen has effects of its own from the population, for each draw and row.
void add_new_group(const std::vector<Matrix>& factors, const Vector& z, std::mt19937_64& generator,
                   Eigen::Ref<Eigen::RowVectorXd> eta) {
  std::normal_distribution<double> normal;
  Vector noise(z.size());
  for (Index s = 0; s < eta.size(); ++s) {
    for (double& value : noise) value = normal(generator);
    eta(s) += z.dot(factors[static_cast<std::size_t>(s)] * noise);
  }
}

void add_groups(const FormulaDraws& draws, const NewRows& rows, Index begin, std::mt19937_64& generator,
                Matrix& eta) {
  for (std::size_t t = 0; t < rows.groups.size(); ++t) {
    const formula::EncodedGroup& group = rows.groups[t];
    for (Index i = 0; i < eta.rows(); ++i) {
      const Vector z = group.z.cols() > 0 ? Vector(group.z.row(begin + i)) : Vector(Vector::Ones(1));
      const Index level = group.group[static_cast<std::size_t>(begin + i)];
      Eigen::RowVectorXd row = eta.row(i);
      if (level == formula::kNewGroup)
        add_new_group(draws.population[t], z, generator, row);
      else
        row += z.transpose() * draws.effects[t].middleRows(level * z.size(), z.size());
      eta.row(i) = row;
    }
  }
}

/// Some rows, at all draws.
class FormulaBlock {
 public:
  FormulaBlock(const ResponseFamily& family, const FormulaDraws& draws, const NewRows& rows, Index begin,
               Index count)
      : family_(family), draws_(draws), rows_(rows), begin_(begin), count_(count) {}

  Matrix mean(const Matrix& eta) const {
    return apply(eta,
                 [&](double at, const double* own, double trials) { return family_.mean(at, own, trials); });
  }
  Matrix simulate(const Matrix& eta, std::mt19937_64& generator) const {
    return apply(eta, [&](double at, const double* own, double trials) {
      return family_.simulate(at, own, trials, generator);
    });
  }
  /// log of the mean over draws of p(y | eta).
  Vector log_scores(const Matrix& eta) const {
    const ResponseRows observed = ResponseRows{rows_.response.data(), pointer(rows_.trials),
                                               pointer(rows_.status), rows_.response.size()}
                                      .from(begin_, count_);
    Matrix densities(count_, eta.cols());
    Vector constants(count_);
    family_.constants(observed, constants.data());
    for (Index s = 0; s < eta.cols(); ++s)
      family_.log_density(observed, eta.col(s).data(), draws_.own.col(s).data(), densities.col(s).data());
    const Vector largest = densities.rowwise().maxCoeff();
    return ((densities.colwise() - largest).array().exp().rowwise().mean().log() + largest.array() +
            constants.array())
        .matrix();
  }

 private:
  static const double* pointer(const Vector& values) { return values.size() > 0 ? values.data() : nullptr; }

  template <class Function>
  Matrix apply(const Matrix& eta, Function&& function) const {
    Matrix out(eta.rows(), eta.cols());
    for (Index s = 0; s < eta.cols(); ++s)
      for (Index i = 0; i < eta.rows(); ++i)
        out(i, s) = function(eta(i, s), draws_.own.col(s).data(),
                             rows_.trials.size() > 0 ? rows_.trials(begin_ + i) : 1.0);
    return out;
  }

  const ResponseFamily& family_;
  const FormulaDraws& draws_;
  const NewRows& rows_;
  Index begin_, count_;
};

}  // namespace

std::vector<FormulaDraws> stored_draws(const FormulaModel& model, Index count, std::uint64_t seed) {
  if (!model.draws) throw DataError("the fit has no stored draws of its group effects: fit again");
  const auto reporter = source::make_stored_reporter(std::make_shared<const FormulaModel>(model));
  const Index draws = std::min(count, model.draws->values.cols());
  const Matrix values = reporter->report(Matrix(0, draws), seed);
  const NamedRows rows(values, model.draws->names);
  // An ordered response has cut points in the intercept's place.
  const std::vector<std::string> names = source::class_coefficient_names(model);
  const Index columns = model.design.centre.size(), first = columns - static_cast<Index>(names.size());
  std::vector<FormulaDraws> all;
  for (const std::string& prefix : source::predictor_prefixes(model)) {
    FormulaDraws out;
    out.coefficients = Matrix::Zero(columns, draws);
    for (std::size_t j = 0; j < names.size(); ++j)
      out.coefficients.row(first + static_cast<Index>(j)) = rows(prefix + names[j]);
    source::to_design_scale(model, out.coefficients);
    out.own = read_own(model, rows, draws);
    read_groups(model, rows, prefix, out);
    all.push_back(std::move(out));
  }
  return all;
}

RowPredictions empty_predictions(Index n, Index responses) {
  return {Vector(n), Vector(n), Vector(n), Vector(n), Vector(n), Vector(responses), Vector(n), Vector(n)};
}

void fill_quantiles(const Matrix& values, Index begin, double level, RowPredictions& out) {
  std::vector<double> row(static_cast<std::size_t>(values.cols()));
  for (Index i = 0; i < values.rows(); ++i) {
    for (Index s = 0; s < values.cols(); ++s) row[static_cast<std::size_t>(s)] = values(i, s);
    std::sort(row.begin(), row.end());
    out.q05(begin + i) = results::quantile(row, .05);
    out.q25(begin + i) = results::quantile(row, .25);
    out.q75(begin + i) = results::quantile(row, .75);
    out.q95(begin + i) = results::quantile(row, .95);
    out.lower(begin + i) = results::quantile(row, .5 * (1 - level));
    out.upper(begin + i) = results::quantile(row, .5 * (1 + level));
  }
}

NewRows encode_formula_rows(const table::Table& table, const source::FormulaModel& model,
                            table::MissingPolicy missing) {
  formula::EncodedFormula rows = formula::encode(model.design, table, missing);
  return {Design::own(std::move(rows.x)), std::move(rows.response),
          std::move(rows.rows),           std::move(rows.offset),
          std::move(rows.trials),         std::move(rows.status),
          std::move(rows.groups),         {}};
}

Matrix linear_predictors(const FormulaDraws& draws, const NewRows& rows, Index begin, Index count,
                         std::mt19937_64& generator) {
  Matrix eta = std::visit(
      [&](const auto& x) -> Matrix {
        if constexpr (std::is_same_v<std::decay_t<decltype(x)>, SparseRows>) {
          throw std::logic_error("the design of a formula is dense");
        } else {
          using Scalar = std::remove_const_t<std::remove_pointer_t<decltype(x.data)>>;
          using Block = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
          const Eigen::Map<const Block, 0, Eigen::OuterStride<>> design(
              x.data + begin * x.stride, count, x.cols, Eigen::OuterStride<>(x.stride));
          return design.template cast<double>() * draws.coefficients;
        }
      },
      rows.design.storage());
  if (rows.offset.size() > 0) eta.colwise() += rows.offset.segment(begin, count);
  add_groups(draws, rows, begin, generator, eta);
  return eta;
}

namespace {

FormulaDraws draws_for(const FormulaModel& model, const Gaussian& posterior, const PredictOptions& options) {
  if (model.grouped() || model.draws)
    return std::move(stored_draws(model, options.draws, options.seed).front());
  return gaussian_draws(model, posterior, options);
}

}  // namespace

CheckInput formula_check_input(const FormulaModel& model, std::shared_ptr<const NewRows> rows,
                               const Gaussian& posterior, const PredictOptions& options) {
  if (model.has_classes()) return class_check_input(model, std::move(rows), posterior, options);
  const auto draws = std::make_shared<const FormulaDraws>(draws_for(model, posterior, options));
  CheckInput input;
  input.family = model.response_family();
  const auto pointer = [](const Vector& values) { return values.size() > 0 ? values.data() : nullptr; };
  input.rows = {rows->response.data(), pointer(rows->trials), pointer(rows->status), rows->response.size()};
  input.predictor = [draws, rows](Index first, MatrixRef eta) {
    std::mt19937_64 unused(1);
    eta = linear_predictors(*draws, *rows, first, eta.rows(), unused);
  };
  input.own = draws->own;
  input.seed = options.seed;
  return input;
}

RowPredictions predict_formula_rows(const source::FormulaModel& model, const NewRows& rows,
                                    const Gaussian& posterior, const PredictOptions& options) {
  if (model.has_classes()) return predict_classes(model, rows, posterior, options);
  const FormulaDraws draws = draws_for(model, posterior, options);
  const auto family = model.response_family();
  const Index n = rows.design.rows();
  RowPredictions out = empty_predictions(n, rows.response.size());
  std::mt19937_64 generator(options.seed);
  const Index step = std::max<Index>(1, kValuesAtOnce / draws.size());
  for (Index begin = 0; begin < n; begin += step) {
    const Index count = std::min(step, n - begin);
    const Matrix eta = linear_predictors(draws, rows, begin, count, generator);
    const FormulaBlock block(*family, draws, rows, begin, count);
    if (rows.response.size() > 0) out.log_score.segment(begin, count) = block.log_scores(eta);
    const bool link = options.scale == PredictionScale::link;
    const Matrix expected = link ? eta : block.mean(eta);
    out.mean.segment(begin, count) = expected.rowwise().mean();
    const bool of_the_mean = link || model.family == Distribution::bernoulli;
    fill_quantiles(of_the_mean ? expected : block.simulate(eta, generator), begin, options.level, out);
  }
  return out;
}

}  // namespace magva::prediction
