#pragma once
// Is a model's gradient the derivative of its log density? The first thing to ask of a hand-written model.
#include <string>

#include "magva/model.hpp"

namespace magva {

struct GradientCheckOptions {
  double tolerance = 1e-6;      ///< relative to the larger of 1 and the derivative
  std::uint64_t iteration = 0;  ///< names the minibatch, where the model works on one
};

/// The coordinate where gradient and log density disagree most.
struct GradientCheck {
  bool passed = false;
  Index worst = 0;
  std::string name;        ///< the model's name for it
  double analytic = 0.0;   ///< what the model says
  double numerical = 0.0;  ///< what differences of its log density say
  double error = 0.0;      ///< |analytic - numerical| / max(1, |analytic|, |numerical|)
  std::string sentence;    ///< for people
};

/// Compares with central differences, extrapolated, at the step that proves most consistent for each
/// coordinate; what differences themselves cannot resolve is not held against the model.
GradientCheck check_gradient(const Model& model, ConstVectorRef theta,
                             const GradientCheckOptions& options = {});

}  // namespace magva
