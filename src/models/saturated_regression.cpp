// Linear regressions whose rows are fitted exactly.
//
// With weights w_i on rows of which n differ and are fitted, the log likelihood rises by sum(w) for each unit
// by which log sigma falls, and the entropy falls by n: if sum(w) > n nothing ends this. A regression with
// small but true residuals is no such case, however small these are beside the response, as long as doubles
// can tell them.
#include <Eigen/QR>

#include <cmath>
#include <limits>
#include <mutex>

#include "models/expected_regression.hpp"

namespace magva::detail {

namespace {

/// Of the response's sd: the least residual sd where coefficients exist whose residuals' root mean
/// square is below kExactResiduals. The squares of both meet a Gram matrix, which is known to 1e-16.
constexpr double kLeastNoise = 1e-5;
constexpr double kExactResiduals = 1e-7;
/// An ascent ends no further from the least residual sd, by its logarithm; a start is so far from it.
constexpr double kAtLeast = .01;
constexpr double kShortOf = 2;

/// Numbers in a design, and multiplications, for which it is found out whether all rows can be fitted.
constexpr double kMostNumbers = 5e7;
constexpr double kMostWork = 1e9;

double root_mean_square(const Vector& values, const Vector& weights) {
  return std::sqrt(weights.dot(values.cwiseAbs2()) / weights.sum());
}

double response_scale(const RegressionParts& parts) {
  const Vector& y = *parts.response;
  const Vector& w = *parts.weight;
  const double sd = root_mean_square((y.array() - w.dot(y) / w.sum()).matrix(), w);
  return sd > 0 ? sd : root_mean_square(y, w);
}

/// Rows with a weight, about evenly so many.
std::vector<Index> some_rows(const Vector& weights, Index rows, Index most) {
  std::vector<Index> weighted;
  for (Index i = 0; i < rows; ++i)
    if (weights(i) > 0) weighted.push_back(i);
  const auto count = static_cast<Index>(weighted.size());
  if (count <= most) return weighted;
  std::vector<Index> out;
  for (Index k = 0; k < most; ++k) out.push_back(weighted[static_cast<std::size_t>(k * count / most)]);
  return out;
}

/// Whether coefficients that fit as many rows as they may leave nothing of any other.
bool can_be_fitted_exactly(const RegressionParts& parts) {
  const Design& design = parts.kernel->design();
  const Index n = design.rows();
  const auto m = static_cast<double>(design.cols());
  if (static_cast<double>(n) * m > kMostNumbers || m * m * m > kMostWork) return false;
  const RowMatrix x = dense_rows(design);
  Vector y = parts.response->head(n);
  if (parts.offset) y -= parts.offset->head(n);
  const std::vector<Index> rows = some_rows(*parts.weight, n, 2 * design.cols());
  const Vector coefficients = Matrix(x(rows, Eigen::all)).colPivHouseholderQr().solve(y(rows));
  return root_mean_square(y - x * coefficients, parts.weight->head(n)) <
         kExactResiduals * response_scale(parts);
}

/// The regression, if that is what it is and its residual sd the least, or smaller.
const ExpectedRegression* at_saturation(const ExpectedLogDensity& expected, ConstVectorRef mean) {
  const auto* regression = dynamic_cast<const ExpectedRegression*>(&expected);
  if (regression == nullptr) return nullptr;
  Vector beyond = mean;
  beyond(beyond.size() - 1) -= kAtLeast;
  return regression->saturated(beyond) ? regression : nullptr;
}

}  // namespace

/// Asked for only where the residual sd is very small.
class ExactlyFitted {
 public:
  bool get(const RegressionParts& parts) {
    std::call_once(once_, [&] { fitted_ = can_be_fitted_exactly(parts); });
    return fitted_;
  }

 private:
  std::once_flag once_;
  bool fitted_ = false;
};

ExpectedRegression::ExpectedRegression(RegressionParts parts)
    : parts_(std::move(parts)),
      fitted_(std::make_shared<ExactlyFitted>()),
      log_least_noise_(parts_.has_nuisance ? std::log(kLeastNoise * response_scale(parts_))
                                           : -std::numeric_limits<double>::infinity()) {}

bool ExpectedRegression::saturated(ConstVectorRef mean) const {
  return mean(dimension() - 1) < log_least_noise_ && fitted_->get(parts_);
}

std::optional<std::string> saturation(const ExpectedLogDensity& expected, ConstVectorRef mean) {
  if (!at_saturation(expected, mean)) return std::nullopt;
  return "all rows are fitted exactly, so that nothing bounds the residual sd below and the posterior is "
         "improper: give the residual sd a known value or use fewer columns (copies of rows add nothing)";
}

Vector short_of_saturation(const ExpectedLogDensity& expected, Vector mean) {
  if (const auto* regression = at_saturation(expected, mean))
    mean(mean.size() - 1) = regression->log_least_noise() + kShortOf;
  return mean;
}

}  // namespace magva::detail
