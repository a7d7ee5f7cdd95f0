#pragma once
// P(y = class) of one row with one or several linear predictors.
#include <memory>
#include <string>
#include <vector>

#include "magva/class_regression.hpp"

namespace magva::detail {

/// So that a row's predictors fit on the stack.
inline constexpr Index kMostClasses = 64;
/// Throws UsageError if there are fewer than 2 classes or more than these.
void require_classes(Index classes);

/// Its own parameters have two forms: unconstrained coordinates, and `raw` values, which rows look at.
class ClassLikelihood {
 public:
  explicit ClassLikelihood(Index classes) : classes_(classes) {}
  virtual ~ClassLikelihood() = default;

  Index classes() const { return classes_; }
  virtual Index predictors() const = 0;
  virtual Index own_count() const { return 0; }
  virtual std::string own_name(Index /*k*/) const { return {}; }

  /// Raw values of the coordinates.
  virtual void raw(const double* /*own*/, double* /*raw*/) const {}
  /// Log prior density of the coordinates; `gradient` is given its derivatives and those that `by_raw`
  /// implies.
  virtual double finish(const double* /*own*/, const double* /*raw*/, const double* /*by_raw*/,
                        double* /*gradient*/) const {
    return 0;
  }
  /// log P(y) with weighted derivatives: by_eta is written, by_raw added to.
  virtual double row(Index y, double weight, const double* eta, const double* raw, double* by_eta,
                     double* by_raw) const = 0;
  /// P of each class.
  virtual void probabilities(const double* eta, const double* raw, double* out) const = 0;
  /// From the weighted shares of the classes, none of which is 0: own coordinates, and the predictors.
  virtual void start(ConstVectorRef shares, double* own, double* eta) const = 0;

 private:
  Index classes_;
};

std::shared_ptr<const ClassLikelihood> cumulative_logit_likelihood(Index classes,
                                                                   const CutPointPrior& prior = {});
std::shared_ptr<const ClassLikelihood> softmax_likelihood(Index classes);

}  // namespace magva::detail
