#pragma once
// Prior sds of coefficients that are unknown themselves: in common for what bends a smooth term, with a part
// of their own for coefficients that a horseshoe shrinks. Coordinates are logarithms.
#include <string>
#include <vector>

#include "magva/mixed.hpp"
#include "magva/positive_prior.hpp"

namespace magva::mixed {

class CoefficientSds {
 public:
  /// `names` are those of all coefficients.
  CoefficientSds(const MixedPriors& priors, std::vector<std::string> names);

  Index size() const { return size_; }
  /// The log prior density of the coordinates, whose derivatives are added to `gradient`.
  double log_prior(const double* at, double* gradient) const;
  void start(double* at) const;
  /// "sd(s(age))"; "lambda[x1]", "tau" and, with a slab, "c". Coordinates begin with "log_".
  std::vector<std::string> names() const;
  /// Sets the sds of its coefficients, and leaves others as they are.
  void set(const double* at, Vector& sds) const;
  /// Adds what follows from the derivatives by the logarithm of each coefficient's sd.
  void add_gradient(const double* at, ConstVectorRef by_log_sd, double* gradient) const;

 private:
  struct Smooth {
    SmoothPrior prior;
    PositivePrior sd;
    Index at;
  };
  struct Horseshoe {
    ShrinkagePrior prior;
    PositivePrior slab_variance;
    Index at;

    Index tau() const { return at + prior.count; }
    Index slab() const { return tau() + 1; }
  };
  /// log sd of a coefficient, and its derivative by log lambda and log tau; that by log c is the rest to 1.
  struct LogSd {
    double value;
    double by_tail;
  };
  static LogSd log_sd(const Horseshoe& horseshoe, const double* at, Index j);
  static double horseshoe_log_prior(const Horseshoe& horseshoe, const double* at, double* gradient);

  std::vector<std::string> names_;
  std::vector<Smooth> smooths_;
  std::vector<Horseshoe> horseshoes_;
  Index size_ = 0;
};

/// Whether the coefficient's prior sd is one of these.
bool has_unknown_sd(const MixedPriors& priors, Index j);

}  // namespace magva::mixed
