#pragma once
// Regressions with group effects (multilevel, mixed or hierarchical models): y ~ family(X beta + Z u +
// offset), the effects u of each group normal with unknown standard deviations and correlations.
//
// A joint Gaussian of variance components and the effects they govern is poor. So the effects are integrated
// out: in closed form if the response is gaussian, by adaptive Gauss-Hermite quadrature if groups are nested,
// and by Laplace's method otherwise. A smooth posterior of few parameters remains, which fit() approximates;
// everything else is drawn given these.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "magva/fit.hpp"
#include "magva/model.hpp"
#include "magva/regression.hpp"

namespace magva {

class ResponseFamily;

/// (effects | group) of a formula: the group of each row, and what the group's effects multiply there.
struct GroupTerm {
  std::string name;                  ///< of the grouping factor, such as "school"
  std::vector<std::string> levels;   ///< its groups
  std::vector<std::int32_t> group;   ///< of each row, an index into `levels`
  RowMatrix z;                       ///< a column for each effect; no columns: an intercept alone
  std::vector<std::string> effects;  ///< names of the columns; empty: "Intercept"
  bool correlated = true;            ///< false: effects of one group are independent, (x || g)

  Index level_count() const { return static_cast<Index>(levels.size()); }
  Index effect_count() const { return z.cols() > 0 ? z.cols() : 1; }
  std::string effect_name(Index k) const {
    return effects.empty() ? "Intercept" : effects[static_cast<std::size_t>(k)];
  }
};

struct MixedData {
  Design design;  ///< of the coefficients, which may have no column
  Vector response;
  Vector trials;                   ///< of a binomial response; empty: 1 each
  Vector status;                   ///< of a censored response: 1 if the event was seen; empty: all seen
  Vector offset;                   ///< empty: none
  Vector weights;                  ///< factors of the rows' log likelihoods; empty: every row counts once
  std::vector<GroupTerm> terms;    ///< terms with the same grouping factor are independent of each other
  std::vector<std::string> names;  ///< of the coefficients; empty: beta[1], beta[2], ...
};

/// Coefficients that bend a smooth term: normal around 0 with an unknown sd in common, which has a
/// half-Student-t prior with 3 degrees of freedom.
struct SmoothPrior {
  std::string name;            ///< of the term, such as "s(age)"
  Index first = 0, count = 0;  ///< columns of the design
  double sd_scale = 1;
};

/// Coefficients that a horseshoe shrinks: normal around 0 with sds tau lambda_j, lambda_j ~ half-Cauchy(0,
/// 1), tau ~ half-Cauchy(0, global_scale); with a slab, 1 / sd_j^2 = 1 / (tau lambda_j)^2 + 1 / c^2 and c^2 ~
/// inverse gamma(nu / 2, nu slab_scale^2 / 2), nu = 4 (Piironen & Vehtari 2017).
struct ShrinkagePrior {
  Index first = 0, count = 0;  ///< columns of the design
  double global_scale = 1;
  std::optional<double> slab_scale;
};

struct MixedPriors {
  Vector location;            ///< of each coefficient
  Vector scale;               ///< of each coefficient
  Vector degrees_of_freedom;  ///< of each coefficient: Student-t; infinite, or an empty vector: normal
  /// Of the sds, half-Student-t with 3 degrees of freedom: a scale for each effect of each term.
  std::vector<Vector> sd_scale;
  std::vector<SmoothPrior> smooths;        ///< then location and scale of their coefficients do not count
  std::vector<ShrinkagePrior> horseshoes;  ///< the same holds for these
  double lkj = 1;                          ///< the correlations of a term have the LKJ prior with this shape
  double sigma_rate = 1;                   ///< of a gaussian response: sigma ~ exponential(rate)
};

/// How the group effects were integrated out.
enum class MixedMethod { closed_form, quadrature, laplace };
const char* to_string(MixedMethod method);

/// Draws from the posterior of a mixed model, one column per draw.
struct MixedDraws {
  Matrix population;  ///< coefficients, the family's own parameters, sds, correlations: population_names()
  std::vector<Matrix> effects;  ///< of each term: row level * effect_count + effect
};

/// A mixed model: the posterior of the parameters that are left, and the way back to all others.
class MixedModel {
 public:
  virtual ~MixedModel() = default;

  /// The log posterior density of the parameters that are left, all unconstrained: coefficients as far as
  /// they are not integrated out, logarithms of the family's own parameters and of sds, coordinates of
  /// correlations.
  virtual const Model& model() const = 0;
  virtual MixedMethod method() const = 0;
  /// Which way was taken, and why: a sentence.
  virtual std::string describe() const = 0;

  /// "x1", "sigma", "sd(school: Intercept)", "cor(school: Intercept, x1)", "sd(s(age))".
  virtual std::vector<std::string> population_names() const = 0;
  /// "school[A]: Intercept", in the order of MixedDraws::effects.
  virtual std::vector<std::string> effect_names(std::size_t term) const = 0;
  virtual std::size_t term_count() const = 0;
  /// Multiplications of one evaluation of model(), roughly.
  virtual double work() const = 0;
  /// By how much each of the parameters that are left may well change: the steps of a search are in these
  /// units.
  virtual Vector units() const = 0;
  /// The log densities at the columns of theta, without gradients, which may take twice as long again; by
  /// Laplace's method to second order, while model() takes the first. Not finite where there is none.
  virtual Vector log_densities(ConstMatrixRef theta, Workers& workers) const = 0;

  /// Draws of everything given draws of the parameters that are left. Each column has noise of its own,
  /// which depends on the seed and on how many there are, not on the number of workers.
  virtual MixedDraws draw(ConstMatrixRef theta, std::uint64_t seed, Workers& workers) const = 0;
  /// The same without the group effects.
  virtual Matrix draw_population(ConstMatrixRef theta, std::uint64_t seed, Workers& workers) const = 0;
};

/// Chooses the way. `family` null: gaussian with the identity link. Throws DataError if the data do not fit
/// together, UsageError if the priors do not.
std::unique_ptr<const MixedModel> make_mixed(MixedData data, MixedPriors priors,
                                             std::shared_ptr<const ResponseFamily> family = nullptr);

/// Responses 0, 1, ... of unordered classes, P(y = k) proportional to exp(eta_k), eta_0 = 0. Each other class
/// has coefficients and group effects of its own, with sds of their own, under the same priors: names and
/// terms of the result are those of the first of these classes, then of the next, and begin with the class,
/// "b: x1". Horseshoe priors are a UsageError.
std::unique_ptr<const MixedModel> make_mixed_categorical(MixedData data, const MixedPriors& priors,
                                                         const std::vector<std::string>& classes);

/// The posterior of the parameters that are left, as the Gaussian with its mean and covariance: the mode, the
/// curvature there, and importance weights of some hundred draws around it, which is what expensive
/// evaluations of few dimensions allow. It is trusted if k-hat is below .7; if it is not, if options ask for
/// another form or an iteration limit, or if there are many dimensions, this is fit().
FitResult fit_groups(const MixedModel& model, const FitOptions& options,
                     const std::vector<Observer>& observers = {});

/// Draws of the parameters that are left, nearer to the posterior than a Gaussian's own.
struct MixedResample {
  Matrix theta;    ///< one column per draw; a column may come more than once
  bool resampled;  ///< false: k-hat is above .7, and these are draws of the Gaussian
  double khat;
};

/// Pareto smoothed importance resampling from a t distribution with the Gaussian's location and scale, which
/// moves to where the weights are if k-hat is high.
MixedResample resample_mixed(const MixedModel& model, const Gaussian& posterior, Index draws,
                             std::uint64_t seed, int threads = 0);

struct MixedPosterior {
  FitResult fit;
  MixedResample draws;
  std::string method;  ///< MixedModel::describe, and what became of the draws
};

/// fit_groups, and `draws` draws by the weights of the fit, or else from resample_mixed.
MixedPosterior fit_mixed(const MixedModel& model, Index draws = 1000, const FitOptions& options = {},
                         const std::vector<Observer>& observers = {});

}  // namespace magva
