// Blocks whose coefficients are coordinates: normal, Student-t, centred intercept, hierarchical normal.
#include <cmath>
#include <limits>
#include <numbers>

#include "models/half_cauchy.hpp"
#include "models/normal_rule.hpp"
#include "models/prior_block.hpp"

namespace magva::detail {

namespace {

class NormalTerm final : public PriorTerm {
 public:
  NormalTerm(const NormalBlock& prior, const BlockPlace& place) : PriorTerm(place), prior_(prior) {
    constant_ = -prior.scale.array().log().sum() - static_cast<double>(place.count) * kHalfLogTwoPi;
  }

  double add_to(const double* theta, double* gradient) const override {
    double value = constant_;
    for (Index j = 0; j < place_.count; ++j) {
      const double z = (theta[place_.first + j] - prior_.location(j)) / prior_.scale(j);
      gradient[place_.first + j] -= z / prior_.scale(j);
      value -= .5 * z * z;
    }
    return value;
  }

  double expect(const GaussianView& q, VectorRef gradient, SymmetricEntries& curvature) const override {
    double value = constant_;
    for (Index j = 0; j < place_.count; ++j) {
      const Index i = place_.first + j;
      const double precision = 1 / (prior_.scale(j) * prior_.scale(j));
      const double delta = q.mean(i) - prior_.location(j);
      gradient(i) -= precision * delta;
      curvature.push_back({i, i, precision});
      value -= .5 * precision * (delta * delta + q.covariance(i, i));
    }
    return value;
  }

  bool independent(IndependentPriors& all) const override {
    all.location.segment(place_.first, place_.count) = prior_.location;
    all.scale.segment(place_.first, place_.count) = prior_.scale;
    return true;
  }

  bool add_normals(IndependentNormals& out) const override {
    out.mean.segment(place_.first, place_.count) = prior_.location;
    out.sd.segment(place_.first, place_.count) = prior_.scale;
    return true;
  }

 private:
  NormalBlock prior_;
  double constant_;
};

class StudentTTerm final : public PriorTerm {
 public:
  StudentTTerm(const StudentTBlock& prior, const BlockPlace& place) : PriorTerm(place), prior_(prior) {
    constant_ = 0;
    for (Index j = 0; j < place.count; ++j) {
      const double nu = prior.degrees_of_freedom(j);
      constant_ += std::lgamma(.5 * (nu + 1)) - std::lgamma(.5 * nu) - .5 * std::log(nu * std::numbers::pi) -
                   std::log(prior.scale(j));
    }
  }
  bool log_concave() const override { return false; }

  double add_to(const double* theta, double* gradient) const override {
    double value = constant_;
    for (Index j = 0; j < place_.count; ++j) {
      const LogScaleDensity point = at(theta[place_.first + j], j);
      gradient[place_.first + j] += point.first;
      value += point.value;
    }
    return value;
  }

  double expect(const GaussianView& q, VectorRef gradient, SymmetricEntries& curvature) const override {
    double value = constant_;
    for (Index j = 0; j < place_.count; ++j) {
      const Index i = place_.first + j;
      const double sd = std::sqrt(q.covariance(i, i));
      // Poles are where beta - location = i scale sqrt(nu).
      const double poles = prior_.scale(j) * std::sqrt(prior_.degrees_of_freedom(j));
      const PairRule* rule = normal_rule(sd * std::numbers::pi / poles);
      if (!rule) return std::numeric_limits<double>::quiet_NaN();
      double bend = 0;
      for (std::size_t k = 0; k < rule->node.size(); ++k)
        for (const double z : {-rule->node[k], rule->node[k]}) {
          const LogScaleDensity point = at(q.mean(i) + sd * z, j);
          value += rule->weight[k] * point.value;
          gradient(i) += rule->weight[k] * point.first;
          bend += rule->weight[k] * point.second;
        }
      curvature.push_back({i, i, -bend});
    }
    return value;
  }

  bool independent(IndependentPriors& all) const override {
    all.location.segment(place_.first, place_.count) = prior_.location;
    all.scale.segment(place_.first, place_.count) = prior_.scale;
    all.degrees_of_freedom.segment(place_.first, place_.count) = prior_.degrees_of_freedom;
    return true;
  }

 private:
  /// -(nu + 1) / 2 log(1 + r^2 / c), c = nu scale^2, with its derivatives by beta.
  LogScaleDensity at(double beta, Index j) const {
    const double nu = prior_.degrees_of_freedom(j);
    const double c = nu * prior_.scale(j) * prior_.scale(j);
    const double r = beta - prior_.location(j);
    const double inverse = 1 / (c + r * r);
    return {-.5 * (nu + 1) * std::log1p(r * r / c), -(nu + 1) * r * inverse,
            -(nu + 1) * (c - r * r) * inverse * inverse};
  }

  StudentTBlock prior_;
  double constant_;
};

class CentredInterceptTerm final : public PriorTerm {
 public:
  CentredInterceptTerm(const CentredInterceptBlock& prior, const BlockPlace& place)
      : PriorTerm(place), prior_(prior), direction_(prior.centre) {
    direction_(place.first) = 1;
  }

  double add_to(const double* theta, double* gradient) const override {
    const Index n = direction_.size();
    const double at_centre = direction_.dot(Eigen::Map<const Vector>(theta, n));
    const double z = (at_centre - prior_.location) / prior_.scale;
    Eigen::Map<Vector>(gradient, n) -= z / prior_.scale * direction_;
    return constant() - .5 * z * z;
  }

  double expect(const GaussianView& q, VectorRef gradient, SymmetricEntries& curvature) const override {
    const Index n = direction_.size();
    const double precision = 1 / (prior_.scale * prior_.scale);
    const double delta = direction_.dot(q.mean.head(n)) - prior_.location;
    double variance = (q.factors.topRows(n).transpose() * direction_).squaredNorm();
    if (q.residual_sd.size() > 0) variance += direction_.cwiseProduct(q.residual_sd.head(n)).squaredNorm();
    gradient.head(n) -= precision * delta * direction_;
    for (Index i = 0; i < n; ++i) {
      if (direction_(i) == 0) continue;
      for (Index j = 0; j <= i; ++j)
        if (direction_(j) != 0) curvature.push_back({i, j, precision * direction_(i) * direction_(j)});
    }
    return constant() - .5 * precision * (delta * delta + variance);
  }

  bool add_normals(IndependentNormals& out) const override {
    if (out.intercept) return false;
    out.intercept = place_.first;
    out.centre = direction_;
    out.centre(place_.first) = 0;
    out.mean(place_.first) = prior_.location;
    out.sd(place_.first) = prior_.scale;
    return true;
  }

 private:
  double constant() const { return -kHalfLogTwoPi - std::log(prior_.scale); }
  CentredInterceptBlock prior_;
  Vector direction_;  // beta_0 + centre' beta
};

class HierarchicalTerm final : public PriorTerm {
 public:
  HierarchicalTerm(const HierarchicalBlock& prior, const BlockPlace& place)
      : PriorTerm(place), prior_(prior) {}
  bool log_concave() const override { return false; }
  bool separable() const override { return false; }

  double add_to(const double* theta, double* gradient) const override {
    const auto count = static_cast<double>(place_.count);
    const double t = theta[place_.hyper];
    const double precision = std::exp(-2 * t);
    const Eigen::Map<const Vector> beta(theta + place_.first, place_.count);
    Eigen::Map<Vector>(gradient + place_.first, place_.count) -= precision * beta;
    const double square = precision * beta.squaredNorm();
    const LogScaleDensity sd = prior_.sd.at(t);
    gradient[place_.hyper] += square - count + sd.first;
    return -count * (kHalfLogTwoPi + t) - .5 * square + sd.value;
  }
  void start(VectorRef theta) const override { theta(place_.hyper) = prior_.sd.mode(); }
  std::string hyper_name(Index, const std::vector<std::string>&) const override {
    return "log_sd[" + prior_.name + "]";
  }

  /// -t - exp(-2 t) beta^2 / 2: weighted by the exponential, a Gaussian is one again, whose mean is moved by
  /// -2 times the covariances with t.
  double expect(const GaussianView& q, VectorRef gradient, SymmetricEntries& curvature) const override {
    const Index t = place_.hyper;
    const NormalMarginal own{q.mean(t), q.covariance(t, t)};
    const double precision = std::exp(-2 * own.mean + 2 * own.variance);
    const NuisanceSums sd = prior_.sd.expect(own);
    double squares = 0;
    for (Index j = place_.first; j < place_.first + place_.count; ++j) {
      const double beta = q.mean(j) - 2 * q.covariance(j, t);
      squares += precision * (beta * beta + q.covariance(j, j));
      gradient(j) -= precision * beta;
      curvature.push_back({j, j, precision});
      curvature.push_back({t, j, -2 * precision * beta});
    }
    const auto count = static_cast<double>(place_.count);
    gradient(t) += squares - count + sd.slope;
    curvature.push_back({t, t, 2 * squares + sd.curvature});
    return -count * (kHalfLogTwoPi + own.mean) - .5 * squares + sd.value;
  }

 private:
  HierarchicalBlock prior_;
};

}  // namespace

std::shared_ptr<const PriorTerm> make_term(const NormalBlock& prior, const BlockPlace& place) {
  return std::make_shared<NormalTerm>(prior, place);
}
std::shared_ptr<const PriorTerm> make_term(const StudentTBlock& prior, const BlockPlace& place) {
  return std::make_shared<StudentTTerm>(prior, place);
}
std::shared_ptr<const PriorTerm> make_term(const CentredInterceptBlock& prior, const BlockPlace& place) {
  return std::make_shared<CentredInterceptTerm>(prior, place);
}
std::shared_ptr<const PriorTerm> make_term(const HierarchicalBlock& prior, const BlockPlace& place) {
  return std::make_shared<HierarchicalTerm>(prior, place);
}

}  // namespace magva::detail
