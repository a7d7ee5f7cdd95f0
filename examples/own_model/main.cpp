// A model of your own: write its log density and gradient, check the gradient, fit.
//
//   cmake -S . -B build -DCMAKE_PREFIX_PATH=/where/magva/is/installed && cmake --build build &&
//   build/own_model
//
// Here: measurements y of a constant mu with an unknown error scale sigma, in coordinates (mu, log sigma),
// with mu ~ N(0, 10^2) and log sigma ~ N(0, 1).
#include <cmath>
#include <iostream>
#include <magva/magva.hpp>
#include <numbers>
#include <vector>

int main() {
  const std::vector<double> y = {9.8, 10.4, 10.1, 9.5, 10.9, 10.2, 9.9, 10.6};
  const double log_2pi = std::log(2 * std::numbers::pi);

  const auto model = magva::make_model(2, [&](magva::ConstVectorRef theta, magva::VectorRef gradient) {
    const double mu = theta(0);
    const double log_sigma = theta(1);
    const double precision = std::exp(-2 * log_sigma);
    // Keep the constants: then the ELBO bounds the log evidence and can be compared between models.
    double log_density =
        -.5 * (mu * mu / 100 + log_2pi + std::log(100.)) - .5 * (log_sigma * log_sigma + log_2pi);
    gradient << -mu / 100, -log_sigma;
    for (const double value : y) {
      const double residual = value - mu;
      log_density -= .5 * residual * residual * precision + log_sigma + .5 * log_2pi;
      gradient(0) += residual * precision;
      gradient(1) += residual * residual * precision - 1;
    }
    return log_density;
  });

  const magva::GradientCheck check = magva::check_gradient(model, magva::Vector::Constant(2, .5));
  if (!check.passed) {
    std::cerr << check.sentence << "\n";
    return 1;
  }

  const magva::FitResult fit = magva::fit(model);
  std::cout << magva::to_string(fit.stopped) << ": mu = " << fit.posterior.mean()(0) << " +- "
            << fit.posterior.sd()(0) << ", log sigma = " << fit.posterior.mean()(1) << " +- "
            << fit.posterior.sd()(1) << ", ELBO = " << fit.elbo << " +- " << fit.elbo_se
            << ", k-hat = " << fit.khat << "\n";
  for (const auto& warning : fit.warnings) std::cout << "warning: " << warning.message << "\n";
  return fit.trusted ? 0 : 3;
}
