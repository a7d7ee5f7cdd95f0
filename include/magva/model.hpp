#pragma once
// How a posterior enters the engine: its dimension, and its log density and gradient for a batch of draws.
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "magva/expectations.hpp"
#include "magva/types.hpp"
#include "magva/workers.hpp"

namespace magva {

/// Memory that a model needs while it evaluates. Made once per fit, so that an iteration allocates nothing.
struct Scratch {
  virtual ~Scratch() = default;
};

/// What one evaluation may use besides the model's own data.
struct Evaluation {
  Scratch& scratch;             ///< from this model's make_scratch, never shared by concurrent evaluations
  Workers& workers;             ///< threads that the model may use
  std::uint64_t iteration = 0;  ///< names the minibatch, where the model works on one
};

/// An unnormalised log posterior density log h(theta) = log p(theta) + log p(x | theta).
///
/// The contract: `evaluate` is called with one column of `theta` a draw, at most as many columns as the
/// scratch was made for, and fills `log_density(s)` and column s of `gradient` for each. It keeps every
/// constant, so that the ELBO bounds log p(x). A draw outside the support, or that the model cannot evaluate,
/// gets a non-finite log density: the engine rejects and counts it. It does not throw for such a draw, does
/// not allocate, and its results do not depend on the number of workers nor on which other draws are in the
/// batch's other columns.
class Model {
 public:
  virtual ~Model() = default;

  virtual Index dimension() const = 0;
  virtual void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                        Evaluation& evaluation) const = 0;
  /// The same for draws in antithetic pairs: columns k and k + K of `theta`, k < K, are centre + delta_k and
  /// centre - delta_k, with one centre for all. Of the gradients it gives what estimates from such draws
  /// need: column k of `gradient`, k < K, is half the difference of the pair's two, and column K the mean of
  /// all; the columns after it hold nothing of use. To be overridden by models in which pairs can share work.
  virtual void evaluate_antithetic(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                                   Evaluation& evaluation) const {
    evaluate(theta, log_density, gradient, evaluation);
    const Index pairs = theta.cols() / 2;
    for (Index k = 0; k < pairs; ++k) {
      gradient.col(k + pairs) = .5 * (gradient.col(k) + gradient.col(k + pairs));
      gradient.col(k) -= gradient.col(k + pairs);
    }
    for (Index k = 1; k < pairs; ++k) gradient.col(pairs) += gradient.col(k + pairs);
    gradient.col(pairs) /= static_cast<double>(pairs);
  }

  /// Log densities alone, on lines through one centre: entry (k, j) of `log_density` is that at
  /// centre + steps(k) directions.col(j). False, with nothing written, if the model has no faster way than
  /// `evaluate`. To be overridden by models in which theta enters by linear predictors, whose products with a
  /// direction do for all of its points, and where values take less than gradients.
  virtual bool evaluate_lines(ConstVectorRef /*centre*/, ConstMatrixRef /*directions*/,
                              ConstVectorRef /*steps*/, MatrixRef /*log_density*/,
                              Evaluation& /*evaluation*/) const {
    return false;
  }

  virtual std::unique_ptr<Scratch> make_scratch(Index /*max_draws*/) const {
    return std::make_unique<Scratch>();
  }
  /// Expectations under a Gaussian, if they are known without draws: then a fit needs none.
  virtual const ExpectedLogDensity* expectations() const { return nullptr; }
  /// A point from which a search may start.
  virtual Vector start() const { return Vector::Zero(dimension()); }
  virtual std::string parameter_name(Index i) const { return "theta[" + std::to_string(i + 1) + "]"; }
};

/// A type with the two functions that every posterior has.
template <class M>
concept LogDensity = requires(const M m, ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                              Evaluation& evaluation) {
  { m.dimension() } -> std::convertible_to<Index>;
  m.evaluate(theta, log_density, gradient, evaluation);
};

/// A LogDensity behind the virtual interface: one virtual call a batch.
template <LogDensity M>
class MadeModel final : public Model {
 public:
  explicit MadeModel(M model) : model_(std::move(model)) {}
  Index dimension() const override { return model_.dimension(); }
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override {
    model_.evaluate(theta, log_density, gradient, evaluation);
  }

 private:
  M model_;
};

template <LogDensity M>
MadeModel<M> make_model(M model) {
  return MadeModel<M>(std::move(model));
}

/// A plain function of one theta, `double f(ConstVectorRef theta, VectorRef gradient)`, as a LogDensity.
template <class F>
class PointwiseDensity {
 public:
  PointwiseDensity(Index dimension, F f) : dimension_(dimension), f_(std::move(f)) {}
  Index dimension() const { return dimension_; }
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient, Evaluation&) const {
    for (Index s = 0; s < theta.cols(); ++s) log_density(s) = f_(theta.col(s), gradient.col(s));
  }

 private:
  Index dimension_;
  F f_;
};

template <class F>
requires std::is_invocable_r_v<double, const F&, ConstVectorRef, VectorRef> MadeModel<PointwiseDensity<F>>
make_model(Index dimension, F f) {
  return make_model(PointwiseDensity<F>(dimension, std::move(f)));
}

}  // namespace magva
