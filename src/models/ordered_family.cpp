// Ordered classes as a family with one linear predictor, whose own values are the cut points.
#include <fmt/format.h>

#include "magva/error.hpp"
#include "models/class_likelihood.hpp"
#include "models/cut_points.hpp"

namespace magva {

namespace {

class OrderedFamily final : public detail::PointwiseFamily<OrderedFamily> {
 public:
  explicit OrderedFamily(Index classes)
      : PointwiseFamily(Distribution::ordered, Link::logit, {}), classes_(classes) {}

  static constexpr double kPoles = std::numbers::pi;
  using Own = const double*;
  Own prepare(const double* own) const { return own; }
  double constant(const detail::Row&) const { return 0; }
  template <int kOrder>
  PointDerivatives point(const detail::Row& row, double eta, const Own& own) const {
    return detail::cumulative_logit<kOrder>(static_cast<Index>(row.y), classes_, eta, own);
  }

  Index own_count() const override { return classes_ - 1; }
  Index own_of_row(double response, Index k) const override {
    const Index at = static_cast<Index>(response) - k;
    return at < own_count() ? at : -1;
  }
  std::vector<std::string> validate(const ResponseRows& rows) const override {
    for (Index i = 0; i < rows.rows; ++i) {
      const double y = rows.response[i];
      if (!(y >= 0 && y < static_cast<double>(classes_) && y == std::floor(y)))
        return {fmt::format("the response in row {} is {}, but classes are numbered 0 to {}", i + 1, y,
                            classes_ - 1)};
    }
    return {};
  }
  double eta_start(const ResponseRows&, ConstVectorRef) const override { return 0; }
  /// The cut points, from the shares of the classes.
  Vector own_start(const ResponseRows& rows, ConstVectorRef weights) const override {
    Vector shares = Vector::Constant(classes_, .5);
    for (Index i = 0; i < rows.rows; ++i)
      shares(static_cast<Index>(rows.response[i])) += weights.size() > 0 ? weights(i) : 1.0;
    return detail::cuts_of_shares(shares / shares.sum());
  }
  bool log_concave() const override { return true; }

  /// Of the class's number.
  double mean(double eta, const double* own, double) const override {
    double sum = 0;
    for (Index k = 0; k < own_count(); ++k) sum += detail::inverse_logit(eta - own[k]);
    return sum;
  }
  double variance(double eta, const double* own, double) const override {
    double second = 0;  // E y^2 = sum over k of (2 k + 1) P(y > k)
    for (Index k = 0; k < own_count(); ++k)
      second += static_cast<double>(2 * k + 1) * detail::inverse_logit(eta - own[k]);
    const double first = mean(eta, own, 1);
    return std::max(0.0, second - first * first);
  }
  double cdf(double y, double eta, const double* own, double) const override {
    if (y < 0) return 0;
    const auto k = static_cast<Index>(std::floor(y));
    return k < own_count() ? detail::inverse_logit(own[k] - eta) : 1.0;
  }
  double simulate(double eta, const double* own, double, std::mt19937_64& generator) const override {
    const double u = std::uniform_real_distribution<double>()(generator);
    Index k = 0;
    while (k < own_count() && detail::inverse_logit(own[k] - eta) < u) ++k;
    return static_cast<double>(k);
  }

 private:
  Index classes_;
};

}  // namespace

std::shared_ptr<const ResponseFamily> make_ordered_family(Index classes) {
  detail::require_classes(classes);
  return std::make_shared<const OrderedFamily>(classes);
}

}  // namespace magva
