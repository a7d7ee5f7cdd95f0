// A stranger's program: a density of its own, fitted with the installed package.
#include <cmath>
#include <iostream>
#include <magva/magva.hpp>

int main() {
  const auto model = magva::lift(2, [](magva::ConstVectorRef theta, magva::VectorRef gradient) {
    gradient = magva::Vector::Constant(2, 3.) - theta;
    return -.5 * gradient.squaredNorm();
  });
  magva::FitOptions options;
  options.family.kind = magva::FamilyKind::kMeanField;
  options.estimator = magva::Estimator::kPath;
  options.max_iterations = 20000;
  options.average_last = .1;
  const magva::FitResult result = magva::Fitter(model, options).run();
  std::cout << result.posterior.mean().transpose() << "\n";
  return (result.posterior.mean().array() - 3).abs().maxCoeff() < .05 ? 0 : 1;
}
