#pragma once
// Regression models: a likelihood times a prior over a design, each written once and freely combined; and
// robust P-splines.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "magva/model.hpp"

namespace magva {

namespace detail {
class DesignKernel;
class DrawLayout;
struct RegressionScratch;
struct Observations;
struct RegressionTerms;
}  // namespace detail

/// Dense rows: entry (i, j) is data[i * stride + j]. Single precision halves the bytes, and small whole
/// numbers take one; sums are always in double.
template <class Scalar>
struct DenseRows {
  const Scalar* data = nullptr;
  Index rows = 0;
  Index cols = 0;
  Index stride = 0;
  bool single = sizeof(Scalar) == 4;  ///< given in single precision: a GPU may evaluate draws so
};

/// Compressed sparse rows: row i has the entries starts[i] .. starts[i + 1] - 1 of `columns` and `values`.
struct SparseRows {
  const std::int64_t* starts = nullptr;
  const std::int32_t* columns = nullptr;
  const double* values = nullptr;
  Index rows = 0;
  Index cols = 0;
};

using Rows = std::variant<DenseRows<double>, DenseRows<float>, SparseRows, DenseRows<std::int8_t>>;

/// The storage behind SparseRows, as a reader fills it.
struct SparseMatrix {
  std::vector<std::int64_t> starts{0};
  std::vector<std::int32_t> columns;
  std::vector<double> values;
  Index cols = 0;
};

using SingleRowMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Rows of covariates, dense in double or single precision, or sparse. A design either owns its values or
/// looks at someone else's, such as a memory-mapped file. Cheap to copy: copies share the values.
class Design {
 public:
  /// Takes the matrix over. Throws DataError at an entry that is not finite. A dense matrix that is larger
  /// than the caches and has whole numbers from -128 to 127 alone is kept in int8.
  static Design own(RowMatrix matrix);
  static Design own(SingleRowMatrix matrix);
  static Design own(SparseMatrix matrix);
  /// Looks at values that `owner` keeps alive; with no owner they must outlive the design.
  static Design view(Rows rows, std::shared_ptr<const void> owner = nullptr);

  Index rows() const;
  Index cols() const;
  /// This design, or a copy in int8 if own() would keep it so.
  Design compact() const;
  /// The values stored: rows times columns, or the entries of a sparse design.
  Index entries() const;
  /// That they take, without indices.
  Index bytes() const;
  const Rows& storage() const { return rows_; }

 private:
  Design(Rows rows, std::shared_ptr<const void> owner) : rows_(rows), owner_(std::move(owner)) {}
  Rows rows_;
  std::shared_ptr<const void> owner_;
};

/// p(y | eta) of one observation with linear predictor eta.
class Likelihood;

/// y in {0, 1}, P(y = 1) = 1 / (1 + exp(-eta)).
std::shared_ptr<const Likelihood> bernoulli_logit();

/// y a count, y ~ Poisson(exp(eta)).
std::shared_ptr<const Likelihood> poisson_log();

/// y ~ N(eta, sigma^2) with sigma unknown, coordinate log sigma, sigma ~ half-Cauchy(0, scale): weak on the
/// scale of the response, and it keeps the posterior proper where the columns could fit the data exactly.
std::shared_ptr<const Likelihood> gaussian(double sigma_prior_scale);

/// y ~ N(eta, sigma^2) with sigma known.
std::shared_ptr<const Likelihood> gaussian_known_noise(double sigma);

struct OutlierMixtureOptions {
  double outlier_share = 0.05;     ///< probability of an outlier
  double outlier_variance = 10.0;  ///< its variance over sigma^2
  double alpha0 = 0.01;            ///< sigma^2 ~ inverse gamma(shape alpha0,
  double beta0 = 0.01;             ///<   scale beta0)
  std::vector<std::string> validate() const;
};

/// y ~ (1 - p) N(eta, sigma^2) + p N(eta, c sigma^2), coordinate log sigma^2: the paper's robust regression.
std::shared_ptr<const Likelihood> outlier_mixture(const OutlierMixtureOptions& options);

/// A prior on regression coefficients, with its hyper-parameters as further unconstrained coordinates.
class CoefficientPrior;

struct NormalPriorOptions {
  double variance = 10.0;  ///< of every coefficient, the intercept's too
  std::vector<std::string> validate() const;
};

/// How the horseshoe's coefficients are written.
enum class HorseshoeForm {
  centred,     ///< beta_j ~ N(0, lambda_j^2 tau^2) is a coordinate itself
  noncentred,  ///< xi_j ~ N(0, 1) is, and beta_j = xi_j lambda_j tau
};

/// beta_j ~ N(0, lambda_j^2 tau^2), lambda_j ~ half-Cauchy(0, 1), tau ~ half-Cauchy(0, tau_scale), the
/// intercept N(0, v). Coordinates: intercept, beta (or xi), log lambda, log tau.
struct HorseshoeOptions {
  HorseshoeForm form = HorseshoeForm::noncentred;
  double intercept_variance = 10.0;
  double tau_scale = 1.0;
  /// Where log tau starts. Unset: 0 for the non-centred form; for the centred form the log of
  /// p0 / (q - p0) * 2 / sqrt(n), the scale at which p0 = min(n, q) / 2 of q coefficients are expected to
  /// matter.
  std::optional<double> start_log_tau = std::nullopt;
  std::vector<std::string> validate() const;
};

/// Where 1 / tau^2 of the P-spline prior may lie.
enum class WeibullSupport {
  positive,   ///< the whole Weibull distribution
  above_one,  ///< as the paper prints it: the Weibull density restricted to (1, inf), normalised again
};

/// beta ~ N(0, (tau^2 P(psi))^-1) with P(psi) the tridiagonal precision of a stationary AR(1) process;
/// 1 / tau^2 ~ Weibull(shape a_tau, scale b_tau) on its support; psi uniform on (0, .99).
/// Coordinates: beta, log tau^2 (logit tau^2 if 1 / tau^2 > 1), logit(psi / .99).
struct AutoregressivePriorOptions {
  double a_tau = 0.5;
  double b_tau = 0.0088;
  double psi_limit = 0.99;
  WeibullSupport support = WeibullSupport::positive;
  std::vector<std::string> validate() const;
};

using PriorOptions = std::variant<NormalPriorOptions, HorseshoeOptions, AutoregressivePriorOptions>;

/// The prior for that many coefficients. Throws UsageError if the options are invalid.
std::shared_ptr<const CoefficientPrior> make_prior(const PriorOptions& options, Index coefficients);

/// What was observed. The design's first column is the intercept's, all ones.
struct RegressionData {
  Design design;
  Vector response;
  Vector weights;                  ///< empty: every observation counts once
  std::vector<std::string> names;  ///< of the coefficients, one per column; empty: beta[1], beta[2], ...
  Vector offset{};                 ///< added to the linear predictors; empty: none
  Vector trials{};                 ///< of a binomial response, which counts successes; empty: 1 each
  Vector status{};                 ///< 1 if the event was seen, 0 if right-censored; empty: all seen
};

struct RowSample;

/// log h(theta) = log prior(theta) + sum_i w_i log p(y_i | x_i' beta(theta)), with every constant.
///
/// One evaluation reads the design once for all draws, in blocks of rows that stay in cache. The rows are cut
/// into chunks whose number depends on the size of the design alone and whose sums are added in order: the
/// same bits for any number of threads. The order of a draw's sums depends on how many draws there are and on
/// its place among them, never on the others' numbers.
class Regression final : public Model {
 public:
  /// Throws DataError if the data do not fit together or the likelihood cannot have produced them.
  Regression(RegressionData data, std::shared_ptr<const Likelihood> likelihood,
             std::shared_ptr<const CoefficientPrior> prior);

  Index dimension() const override;
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override;
  void evaluate_antithetic(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                           Evaluation& evaluation) const override;
  bool evaluate_lines(ConstVectorRef centre, ConstMatrixRef directions, ConstVectorRef steps,
                      MatrixRef log_density, Evaluation& evaluation) const override;
  std::unique_ptr<Scratch> make_scratch(Index max_draws) const override;
  Vector start() const override;
  const ExpectedLogDensity* expectations() const override { return expected_.get(); }
  std::string parameter_name(Index i) const override;

  Index rows() const { return rows_; }
  const Design& design() const;
  Index coefficient_count() const;
  const Likelihood& likelihood() const { return *likelihood_; }
  /// The regression coefficients at theta, which the non-centred horseshoe makes out of its coordinates.
  void coefficients(ConstVectorRef theta, VectorRef out) const;
  /// The same model on some of its rows, in order, which stay where they are.
  Regression on_rows(Range rows) const;
  /// The same likelihood and rows with another prior of as many coefficients.
  Regression with_prior(std::shared_ptr<const CoefficientPrior> prior) const;
  /// For those who evaluate it elsewhere.
  detail::RegressionTerms terms() const;

 private:
  friend class Minibatch;
  /// `evaluate` on a sample of the rows, with scratch for at least as many draws and rows.
  void evaluate_sample(const RowSample& sample, ConstMatrixRef theta, VectorRef log_density,
                       MatrixRef gradient, Evaluation& evaluation) const;
  std::unique_ptr<Scratch> make_scratch(Index max_draws, Index sampled_rows) const;
  void find_expectations();
  double constant_of_rows() const;
  detail::Observations observations() const;
  void set_shapes(ConstMatrixRef theta, detail::RegressionScratch& scratch) const;
  double add_prior(const detail::DrawLayout& layout, ConstMatrixRef theta, Index draw,
                   detail::RegressionScratch& scratch, double* gradient) const;

  Index rows_;
  std::shared_ptr<const Vector> response_;  // filled up with zeros to a multiple of 8, as are the weights
  std::shared_ptr<const Vector> weight_;
  std::shared_ptr<const Vector> offset_;  // null: none
  std::shared_ptr<const Vector> status_;  // null: no row is censored
  std::shared_ptr<const Vector> trials_;  // null: one each
  bool unweighted_ = false;
  std::vector<std::string> names_;
  double constant_;  // of the log likelihood of all rows
  std::shared_ptr<const detail::DesignKernel> kernel_;
  std::shared_ptr<const Likelihood> likelihood_;
  std::shared_ptr<const CoefficientPrior> prior_;
  std::shared_ptr<const ExpectedLogDensity> expected_;  // null: not known without draws
};

Regression logistic_regression(RegressionData data, const PriorOptions& prior = NormalPriorOptions{});
Regression poisson_regression(RegressionData data, const PriorOptions& prior = NormalPriorOptions{});

struct LinearOptions {
  /// Known noise scale sigma; unset: unknown, the coordinate log sigma.
  std::optional<double> noise_sd = std::nullopt;
  /// Scale of the half-Cauchy prior on sigma; unset: the (weighted) standard deviation of the response, or 1
  /// if the response is constant.
  std::optional<double> sigma_prior_scale = std::nullopt;
  std::vector<std::string> validate() const;
};

Regression linear_regression(RegressionData data, const PriorOptions& prior = NormalPriorOptions{},
                             const LinearOptions& options = {});

/// `functions` B-splines of the given degree whose knots cut [lower, upper] into functions - degree equal
/// pieces and go on beyond both ends. They are not negative and sum to one on [lower, upper].
class BSplineBasis {
 public:
  /// Throws UsageError if no such basis exists.
  BSplineBasis(Index functions, Index degree, double lower, double upper);

  Index functions() const { return functions_; }
  Index degree() const { return degree_; }
  double lower() const { return lower_; }
  double upper() const { return upper_; }
  /// All functions + degree + 1 knots, in order.
  Vector knots() const;
  /// One row for each x, one column per function. Throws DataError at an x outside [lower, upper].
  RowMatrix operator()(ConstVectorRef x) const;

 private:
  double knot(Index i) const;
  Index functions_;
  Index degree_;
  double lower_;
  double upper_;
};

/// Robust P-spline regression, the paper's first experiment: y = g(x) + noise with g a penalised B-spline and
/// noise that has outliers.
struct PsplineOptions {
  Index functions = 25;
  Index degree = 3;
  std::optional<double> lower = std::nullopt;  ///< range of the knots; unset: the covariate's own
  std::optional<double> upper = std::nullopt;
  AutoregressivePriorOptions prior;
  OutlierMixtureOptions noise;
  std::vector<std::string> validate() const;
};

/// The model, and the basis from which its curve is drawn: g(x) = basis(x) times the first coefficients of
/// theta. Coordinates: beta, log tau^2, logit(psi / .99), log sigma^2.
struct Pspline {
  BSplineBasis basis;
  Regression model;
};

/// `weights` may be empty. Throws UsageError or DataError if options or data cannot be used.
Pspline pspline_regression(ConstVectorRef covariate, ConstVectorRef response,
                           ConstVectorRef weights = Vector(), const PsplineOptions& options = {});

}  // namespace magva
