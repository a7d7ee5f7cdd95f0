#include "response/response_probe.hpp"

#include <algorithm>

#include "response/balanced_noise.hpp"
#include "response/covariance_system.hpp"

namespace magva {

namespace {

/// Pairs of draws: more than parameters, so that third derivatives are integrated exactly and what the others
/// add to them is known; and so many.
constexpr Index kProbePairsPerParameter = 2;
constexpr Index kFewestProbePairs = 128;
/// Of a difference of gradients, in posterior sds.
constexpr double kProbeStep = 1e-3;
constexpr Index kProbePairsTogether = 128;
/// Of the covariance's answer, relative; the response errs by its square.
constexpr double kProbeResidual = .03;
constexpr int kMostProbeIterations = 6;
constexpr int kUsualProbeIterations = 3;

Index probe_pairs(Index m) { return std::max(kProbePairsPerParameter * m, kFewestProbePairs); }

/// Half the sum and half the difference of the two Hessians of each pair, times a vector of the pair's own.
struct PairProducts {
  Matrix even, odd;
};

class PairedHessians {
 public:
  PairedHessians(Evaluator& evaluator, const RootedGaussian& at, std::uint64_t seed)
      : evaluator_(evaluator),
        at_(at),
        noise_(balanced_noise(at.mean.size(), probe_pairs(at.mean.size()), seed)) {
    const Matrix still = Matrix::Zero(noise_.rows(), noise_.cols());
    above_ = gradients(1, still);
    below_ = gradients(-1, still);
  }

  const Matrix& noise() const { return noise_; }
  bool finite() const { return finite_; }
  /// Of the gradients, less its mean, along a direction.
  Vector even_part(const Vector& direction) const {
    const Vector even = .5 * (above_ + below_).transpose() * direction;
    return even.array() - even.mean();
  }

  /// One column of w per pair.
  PairProducts times(const Matrix& w) const {
    const Vector length = w.colwise().norm().cwiseMax(1e-300).transpose() / kProbeStep;
    const Matrix steps = w * length.cwiseInverse().asDiagonal();
    const Matrix above = (gradients(1, steps) - above_) * length.asDiagonal();
    const Matrix below = (below_ - gradients(-1, -steps)) * length.asDiagonal();
    return {.5 * (above + below), .5 * (above - below)};
  }

 private:
  /// By z, at sign times the noise plus the steps.
  Matrix gradients(double sign, const Matrix& steps) const {
    Matrix out(noise_.rows(), noise_.cols());
    for (Index first = 0; first < noise_.cols(); first += kProbePairsTogether) {
      const Index count = std::min(kProbePairsTogether, noise_.cols() - first);
      const Matrix z = sign * noise_.middleCols(first, count) + steps.middleCols(first, count);
      Matrix theta = at_.root.triangularView<Eigen::Lower>() * z;
      theta.colwise() += at_.mean;
      Vector log_density(count);
      Matrix gradient(theta.rows(), count);
      evaluator_.evaluate(theta, log_density, gradient);
      finite_ = finite_ && log_density.allFinite();
      out.middleCols(first, count) = at_.root.transpose() * gradient;
    }
    return out;
  }

  Evaluator& evaluator_;
  const RootedGaussian& at_;
  Matrix noise_;
  Matrix above_, below_;
  mutable bool finite_ = true;
};

/// Mean of a z' over the pairs, symmetric.
Matrix symmetric_mean(const Matrix& a, const Matrix& z) {
  const Matrix product = a * z.transpose() / static_cast<double>(z.cols());
  return .5 * (product + product.transpose());
}

/// Expected squared norm of the noise in the symmetric mean of a z', from what a regression on z leaves.
double squared_noise(const Matrix& a, const Matrix& z) {
  const auto pairs = static_cast<double>(z.cols());
  const Matrix rest = a - (a * z.transpose() / pairs) * z;
  const double all = rest.colwise().squaredNorm().dot(z.colwise().squaredNorm());
  const double along = rest.cwiseProduct(z).colwise().sum().squaredNorm();
  return .5 * (all + along) / (pairs * static_cast<double>(z.cols() - z.rows()));
}

/// What z' C z, C = E[D u z'] / 2 symmetric, leaves of the even part along u.
double unexplained(const Vector& even, const Matrix& cross, const Matrix& z) {
  const Vector forms = (cross * z).cwiseProduct(z).colwise().sum().transpose();
  const Vector rest = even.array() - (forms.array() - forms.mean());
  return rest.squaredNorm() / static_cast<double>(rest.size() - 1);
}

}  // namespace

std::int64_t probe_cost(Index dimension) { return 2 * probe_pairs(dimension) * (2 + kUsualProbeIterations); }

// As in sampled_response.hpp: S answers u where S / 2 - E[(D - E D) S z z'] / 4 = E[D u z'] / 2, symmetric.
std::optional<TakenPrecision> probe_response(Evaluator& evaluator, const RootedGaussian& at,
                                             const Matrix& excess, const Vector& direction,
                                             std::uint64_t seed) {
  const PairedHessians hessians(evaluator, at, seed);
  const Matrix& z = hessians.noise();
  const Matrix odd = .5 * hessians.times(direction.replicate(1, z.cols())).odd;
  const Matrix cross = symmetric_mean(odd, z);
  CovarianceSystem system(cross, kProbeResidual);
  for (int k = 0; !system.solved(); ++k) {
    if (k == kMostProbeIterations || !hessians.finite()) return std::nullopt;
    const Matrix drawn = system.direction() * z;
    const Matrix excess_times = hessians.times(drawn).even + drawn - excess * drawn;
    if (!system.advance(.5 * system.direction() - .25 * symmetric_mean(excess_times, z))) return std::nullopt;
  }
  if (!hessians.finite()) return std::nullopt;
  // The noise of `cross` adds to its square, and takes as much off what it explains.
  const double noise = squared_noise(odd, z);
  const double square = cross.squaredNorm();
  const double share = std::max(0., 1 - noise / square);
  const double rest = unexplained(hessians.even_part(direction), cross, z);
  return TakenPrecision{2 * share * square, share * cross.cwiseProduct(system.solution()).sum(),
                        std::max(0., rest - 2 * noise)};
}

}  // namespace magva
