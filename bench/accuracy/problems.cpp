#include "problems.hpp"

#include <cmath>
#include <fstream>
#include <sstream>

#include "core/noise.hpp"
#include "magva/regression.hpp"

namespace magva::bench {

namespace {

double uniform(double normal) { return .5 * std::erfc(-normal / std::sqrt(2.)); }

double poisson(double rate, double u) {
  double p = std::exp(-rate);
  double cumulative = p;
  double k = 0;
  while (cumulative < u && k < 1000) {
    k += 1;
    p *= rate / k;
    cumulative += p;
  }
  return k;
}

double response(Likelihood likelihood, double eta, double normal) {
  switch (likelihood) {
    case Likelihood::kLogistic:
      return uniform(normal) < 1 / (1 + std::exp(-eta)) ? 1 : 0;
    case Likelihood::kPoisson:
      return poisson(std::exp(eta), uniform(normal));
    case Likelihood::kLinear:
      return eta + normal;
  }
  return 0;
}

// Evenly on the logarithmic scale, around 1.
Vector spread(Index m, double decades) {
  Vector out(m);
  for (Index j = 0; j < m; ++j)
    out(j) = std::pow(
        10., decades * (static_cast<double>(j) / static_cast<double>(std::max<Index>(1, m - 1)) - .5));
  return out;
}

}  // namespace

Glm synthetic(Likelihood likelihood, Index rows, Index cols, double correlation, double decades,
              double signal, std::uint64_t seed, double prior_variance) {
  const Noise noise(seed, NoiseStream::kRandomPoint);
  Matrix design(rows, cols);
  Matrix common(rows, 1);
  Matrix coefficient(cols, 1);
  Matrix error(rows, 1);
  noise.fill(0, 0, design);
  noise.fill(1, 0, common);
  noise.fill(2, 0, coefficient);
  noise.fill(3, 0, error);
  design *= std::sqrt(1 - correlation);
  design.colwise() += std::sqrt(correlation) * common.col(0);
  const Vector eta = design * coefficient.col(0) * (signal / std::sqrt(static_cast<double>(cols)));
  Vector y(rows);
  for (Index i = 0; i < rows; ++i) y(i) = response(likelihood, eta(i), error(i, 0));
  const Vector scale = spread(cols, decades);
  return {likelihood, design * scale.asDiagonal(), y, prior_variance * scale.cwiseAbs2().cwiseInverse()};
}

Gaussian factor_gaussian(Index m, Index rank, double decades, std::uint64_t seed) {
  Matrix factors(m, rank);
  Matrix mean(m, 1);
  Noise(seed, NoiseStream::kFactors).fill(0, 0, factors);
  Noise(seed, NoiseStream::kRandomPoint).fill(0, 0, mean);
  const Vector sd = spread(m, decades);
  return Gaussian::low_rank(sd.cwiseProduct(mean.col(0)),
                            sd.asDiagonal() * factors / std::sqrt(static_cast<double>(rank)), sd);
}

std::optional<Glm> ionosphere(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  std::vector<std::vector<double>> rows;
  while (std::getline(in, line)) {
    std::vector<double> row{1};
    std::stringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(std::stod(cell));
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return std::nullopt;
  const auto n = static_cast<Index>(rows.size());
  const auto m = static_cast<Index>(rows.front().size()) - 1;
  Matrix design(n, m);
  Vector y(n);
  for (Index i = 0; i < n; ++i) {
    const auto& row = rows[static_cast<std::size_t>(i)];
    for (Index j = 0; j < m; ++j) design(i, j) = row[static_cast<std::size_t>(j)];
    y(i) = row.back();
  }
  return Glm(Likelihood::kLogistic, design, y, Vector::Constant(m, 10));
}

std::unique_ptr<Model> horseshoe(Likelihood likelihood, Index rows, Index cols, std::uint64_t seed) {
  const Glm glm = synthetic(likelihood, rows, cols, .3, 0, 3, seed);
  RowMatrix design(rows, cols + 1);
  design << Vector::Ones(rows), glm.design();
  RegressionData data{Design::own(std::move(design)), glm.response(), {}, {}};
  if (likelihood == Likelihood::kLogistic)
    return std::make_unique<Regression>(logistic_regression(std::move(data), HorseshoeOptions{}));
  return std::make_unique<Regression>(linear_regression(std::move(data), HorseshoeOptions{}));
}

namespace {

// Where the curvature is only sketched.
void add_large(std::vector<Problem>& out) {
  for (const Index m : {5'000, 20'000, 100'000})
    out.push_back({"Gaussian, m " + std::to_string(m),
                   [m] { return gaussian_target(factor_gaussian(m, 8, 3, 7)); },
                   {0, 8}});
  const auto add = [&](const char* name, Likelihood kind, Index rows, Index cols, double correlation,
                       double signal, double prior_variance, std::vector<Index> ranks) {
    out.push_back(
        {name,
         [=] { return wide_target(synthetic(kind, rows, cols, correlation, 1, signal, 7, prior_variance)); },
         std::move(ranks)});
  };
  add("wide logistic, m 3000", Likelihood::kLogistic, 200, 3'000, .3, 3, .1, {0, 4});
  add("wide logistic, m 5000, corr .9", Likelihood::kLogistic, 60, 5'000, .9, 3, 10, {0});
  add("wide linear, m 5000, corr .5", Likelihood::kLinear, 100, 5'000, .5, 3, .01, {0, 4});
  add("wide Poisson, m 5000", Likelihood::kPoisson, 200, 5'000, .3, 1, 2e-4, {0, 4});
  add("wide Poisson, m 5000, strong signal", Likelihood::kPoisson, 200, 5'000, .3, 3, 2e-4, {0});
  add("wide logistic, m 20000", Likelihood::kLogistic, 60, 20'000, .3, 3, .1, {0});
  add("wide logistic, m 100000", Likelihood::kLogistic, 40, 100'000, .3, 3, .01, {0});
}

}  // namespace

std::vector<Problem> problems(const std::string& ionosphere_path) {
  std::vector<Problem> out;
  if (const auto glm = ionosphere(ionosphere_path))
    out.push_back({"ionosphere", [glm] { return exact_target(*glm); }, {0, 4, 112}});
  const auto add = [&](const char* name, Likelihood kind, Index rows, Index cols, double correlation,
                       double decades, double signal, std::vector<Index> ranks) {
    out.push_back({name,
                   [=] { return exact_target(synthetic(kind, rows, cols, correlation, decades, signal, 7)); },
                   std::move(ranks)});
  };
  add("logistic, m 10", Likelihood::kLogistic, 200, 10, .5, 0, 2, {0, 2, 10});
  add("logistic, m 50, corr .99, 4 decades", Likelihood::kLogistic, 100, 50, .99, 4, 2, {0, 4, 50});
  add("logistic, m 200", Likelihood::kLogistic, 150, 200, .3, 0, 3, {0, 4});
  add("logistic, m 1000", Likelihood::kLogistic, 400, 1000, .3, 0, 3, {4});
  add("linear, m 30, corr .999, 7 decades", Likelihood::kLinear, 100, 30, .999, 7, 2, {0, 4, 30});
  add("linear, m 200, corr .9, 4 decades", Likelihood::kLinear, 300, 200, .9, 4, 2, {0, 4});
  add("linear, m 2000, corr .9", Likelihood::kLinear, 500, 2000, .9, 0, 2, {4});
  add("Poisson, m 20, corr .9, 5 decades", Likelihood::kPoisson, 100, 20, .9, 5, 1, {0, 2, 4, 20});
  add("Poisson, m 100", Likelihood::kPoisson, 300, 100, .5, 2, .7, {0, 4, 100});
  out.push_back({"logistic horseshoe, m 22",
                 [] { return sampled_target(horseshoe(Likelihood::kLogistic, 100, 10, 7)); },
                 {0, 2, 22}});
  out.push_back({"linear horseshoe, m 43",
                 [] { return sampled_target(horseshoe(Likelihood::kLinear, 80, 20, 7)); },
                 {4, 43}});
  add_large(out);
  return out;
}

}  // namespace magva::bench
