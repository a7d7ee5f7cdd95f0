// Response families row by row: densities and distribution functions against R's, derivatives against finite
// differences, draws against mean, variance and distribution function.
#include "magva/response_family.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "magva/error.hpp"

namespace magva {
namespace {

struct FamilyCase {
  const char* name;
  Distribution family;
  Link link;
  double y, trials, status, eta;
  std::array<double, 2> own;
  double log_density;  // by the R command beside it
};

const FamilyCase kCases[] = {
    // dnorm(1.3, .4, exp(-.3), log = TRUE)
    {"gaussian", Distribution::gaussian, Link::identity, 1.3, 1, 1, .4, {-.3, 0}, -1.35689664736283},
    // dt((1.3 - .4) / exp(-.3), exp(1.1), log = TRUE) + .3
    {"student_t", Distribution::student_t, Link::identity, 1.3, 1, 1, .4, {-.3, 1.1}, -1.50089394784195},
    // dbinom(3, 7, plogis(.4), log = TRUE)
    {"logit", Distribution::binomial, Link::logit, 3, 7, 1, .4, {}, -1.63575870531025},
    // dbinom(3, 7, pnorm(.4), log = TRUE)
    {"probit", Distribution::binomial, Link::probit, 3, 7, 1, .4, {}, -1.97381724595222},
    // dbinom(3, 7, 1 - exp(-exp(.4)), log = TRUE)
    {"cloglog", Distribution::binomial, Link::cloglog, 3, 7, 1, .4, {}, -3.17647958567165},
    // dpois(3, exp(.4), log = TRUE)
    {"poisson", Distribution::poisson, Link::log, 3, 1, 1, .4, {}, -2.08358416686933},
    // dnbinom(3, size = exp(.7), mu = exp(.4), log = TRUE)
    {"negative_binomial",
     Distribution::negative_binomial,
     Link::log,
     3,
     1,
     1,
     .4,
     {.7, 0},
     -2.27824688722692},
    // dnbinom(60, size = exp(.7), mu = exp(3.4), log = TRUE)
    {"large_count", Distribution::negative_binomial, Link::log, 60, 1, 1, 3.4, {.7, 0}, -5.30907944410851},
    // dgamma(1.3, exp(.7), exp(.7) / exp(.4), log = TRUE)
    {"gamma", Distribution::gamma, Link::log, 1.3, 1, 1, .4, {.7, 0}, -0.890593399418742},
    // dweibull(1.3, exp(.7), exp(.4), log = TRUE)
    {"weibull", Distribution::weibull, Link::log, 1.3, 1, 1, .4, {.7, 0}, -0.597458531945402},
    // pweibull(1.3, exp(.7), exp(.4), lower.tail = FALSE, log.p = TRUE)
    {"weibull_censored", Distribution::weibull, Link::log, 1.3, 1, 0, .4, {.7, 0}, -0.75792993240463},
    // dexp(1.3, exp(-.4), log = TRUE)
    {"exponential", Distribution::exponential, Link::log, 1.3, 1, 1, .4, {}, -1.27141605984633},
    // pexp(1.3, exp(-.4), lower.tail = FALSE, log.p = TRUE)
    {"exponential_censored", Distribution::exponential, Link::log, 1.3, 1, 0, .4, {}, -0.871416059846331},
};

std::shared_ptr<const ResponseFamily> family_of(const FamilyCase& c) {
  return make_response_family(c.family, c.link, default_own_parameters(c.family, Vector::LinSpaced(5, 1, 5)));
}

class ResponseFamilyTest : public ::testing::TestWithParam<FamilyCase> {
 protected:
  ResponseRows row() const { return {&GetParam().y, &GetParam().trials, &GetParam().status, 1}; }
  PointDerivatives at(double eta, std::array<double, 2> own) const {
    PointDerivatives out;
    family_->derivatives(row(), &eta, own.data(), &out);
    return out;
  }
  std::shared_ptr<const ResponseFamily> family_ = family_of(GetParam());
};

TEST_P(ResponseFamilyTest, DensityIsRs) {
  double constant = 0;
  double value = 0;
  family_->constants(row(), &constant);
  family_->log_density(row(), &GetParam().eta, GetParam().own.data(), &value);
  EXPECT_NEAR(value + constant, GetParam().log_density, 2e-13);
  EXPECT_TRUE(family_->validate(row()).empty());
}

// Central differences of the derivative one order below; their own error is h^2 times a fifth derivative.
TEST_P(ResponseFamilyTest, DerivativesAreThoseOfFiniteDifferences) {
  constexpr double kStep = 1e-5;
  constexpr double kBound = 2e-8;
  const auto own_count = static_cast<std::size_t>(family_->own_count());
  for (const double shift : {0.0, -1.7, .9}) {
    const double eta = GetParam().eta + shift;
    const auto own = GetParam().own;
    const PointDerivatives here = at(eta, own);
    const PointDerivatives up = at(eta + kStep, own);
    const PointDerivatives down = at(eta - kStep, own);
    const auto slope = [&](double high, double low) { return (high - low) / (2 * kStep); };
    const auto bound = [&](double value) { return kBound * (1 + std::abs(value)); };
    EXPECT_NEAR(here.by_eta, slope(up.value, down.value), bound(here.by_eta));
    EXPECT_NEAR(here.by_eta2, slope(up.by_eta, down.by_eta), bound(here.by_eta2));
    EXPECT_NEAR(here.by_eta3, slope(up.by_eta2, down.by_eta2), bound(here.by_eta3));
    for (std::size_t k = 0; k < own_count; ++k) {
      auto high = own;
      auto low = own;
      high[k] += kStep;
      low[k] -= kStep;
      const PointDerivatives above = at(eta, high);
      const PointDerivatives below = at(eta, low);
      EXPECT_NEAR(here.by_own[k], slope(above.value, below.value), bound(here.by_own[k])) << k;
      EXPECT_NEAR(here.by_eta_own[k], slope(above.by_eta, below.by_eta), bound(here.by_eta_own[k])) << k;
      EXPECT_NEAR(here.by_eta2_own[k], slope(above.by_eta2, below.by_eta2), bound(here.by_eta2_own[k])) << k;
      for (std::size_t j = 0; j <= k; ++j)
        EXPECT_NEAR(here.by_own2[k + j], slope(above.by_own[j], below.by_own[j]), bound(here.by_own2[k + j]))
            << k << j;
    }
  }
}

// Some families have vector code for them: exponentials to 2^-51, and differences of numbers of size 1.
TEST_P(ResponseFamilyTest, FewerDerivativesAreTheSame) {
  const PointDerivatives all = at(GetParam().eta, GetParam().own);
  const auto expect = [](double found, double wanted) {
    EXPECT_NEAR(found, wanted, 2e-15 * (1 + std::abs(wanted)));
  };
  double value = 0;
  double by_eta = 0;
  double by_eta2 = 0;
  std::array<double, 2> by_own{};
  family_->slopes(row(), &GetParam().eta, GetParam().own.data(), &value, &by_eta, by_own.data());
  expect(value, all.value);
  expect(by_eta, all.by_eta);
  for (std::size_t k = 0; k < static_cast<std::size_t>(family_->own_count()); ++k)
    EXPECT_DOUBLE_EQ(by_own[k], all.by_own[k]);
  family_->log_density(row(), &GetParam().eta, GetParam().own.data(), &value);
  expect(value, all.value);
  family_->curvatures(row(), &GetParam().eta, GetParam().own.data(), &value, &by_eta, &by_eta2);
  expect(value, all.value);
  expect(by_eta, all.by_eta);
  expect(by_eta2, all.by_eta2);
}

// Vectors are not always full.
TEST_P(ResponseFamilyTest, RowsDoNotDependOnTheirNeighbours) {
  constexpr Index kRows = 13;
  const FamilyCase& c = GetParam();
  const Vector y = Vector::Constant(kRows, c.y), trials = Vector::Constant(kRows, c.trials),
               status = Vector::Constant(kRows, c.status),
               eta = Vector::LinSpaced(kRows, c.eta - 2, c.eta + 2);
  const ResponseRows rows{y.data(), trials.data(), status.data(), kRows};
  Matrix all(kRows, 3);
  family_->curvatures(rows, eta.data(), c.own.data(), all.col(0).data(), all.col(1).data(),
                      all.col(2).data());
  for (Index i = 0; i < kRows; ++i) {
    Vector one(3);
    family_->curvatures(rows.from(i, 1), eta.data() + i, c.own.data(), &one(0), &one(1), &one(2));
    EXPECT_EQ(one.transpose(), all.row(i)) << i;
  }
  // Sums of a dozen numbers of size 1 to 100, in another order.
  const Vector weights = Vector::LinSpaced(kRows, .5, 2);
  const double bound = 1e-14 * all.col(0).cwiseAbs().sum();
  EXPECT_NEAR(family_->log_likelihood(rows, eta.data(), c.own.data(), nullptr), all.col(0).sum(), bound);
  EXPECT_NEAR(family_->log_likelihood(rows, eta.data(), c.own.data(), weights.data()),
              all.col(0).dot(weights), 2 * bound);
}

TEST(ResponseFamilies, BernoulliSumsAreThoseOfTheRows) {
  const auto family = make_response_family(Distribution::bernoulli, Link::logit, {});
  constexpr Index kRows = 9'003;
  const Vector eta = Vector::LinSpaced(kRows, -60, 800);
  Vector y(kRows), value(kRows);
  for (Index i = 0; i < kRows; ++i) y(i) = static_cast<double>(i % 3 == 0);
  const ResponseRows rows{y.data(), nullptr, nullptr, kRows};
  family->log_density(rows, eta.data(), nullptr, value.data());
  EXPECT_NEAR(family->log_likelihood(rows, eta.data(), nullptr, nullptr), value.sum(),
              1e-13 * value.cwiseAbs().sum());
}

// Bounds are 5 standard errors of means over the draws; the fourth moments are the draws' own.
TEST_P(ResponseFamilyTest, DrawsHaveTheMeanVarianceAndDistribution) {
  constexpr int kDraws = 20000;
  std::mt19937_64 generator(11);
  auto own = GetParam().own;
  if (GetParam().family == Distribution::student_t)
    own[1] = 2.5;  // 12 degrees of freedom: fourth moments exist
  Vector y(kDraws);
  for (double& one : y) one = family_->simulate(GetParam().eta, own.data(), GetParam().trials, generator);
  const double mean = family_->mean(GetParam().eta, own.data(), GetParam().trials);
  const double variance = family_->variance(GetParam().eta, own.data(), GetParam().trials);
  const double root = std::sqrt(static_cast<double>(kDraws));
  EXPECT_NEAR(y.mean(), mean, 5 * std::sqrt(variance) / root);
  const Vector square = (y.array() - mean).square();
  const double fourth = (square.array() - variance).square().mean();
  EXPECT_NEAR(square.mean(), variance, 5 * std::sqrt(fourth) / root);
  const double p = family_->cdf(GetParam().y, GetParam().eta, own.data(), GetParam().trials);
  const double below = (y.array() <= GetParam().y).cast<double>().mean();
  EXPECT_NEAR(below, p, 5 * std::sqrt(p * (1 - p)) / root);
}

INSTANTIATE_TEST_SUITE_P(All, ResponseFamilyTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

struct CdfCase {
  std::size_t row;  // of kCases
  double cdf;
};

// pnorm, pt, pbinom, ppois, pnbinom, pgamma, pweibull, pexp with the arguments of the densities above.
TEST(ResponseFamilies, DistributionFunctionsAreRs) {
  const CdfCase cases[] = {{0, 0.887792719516364}, {1, 0.844398904691125},  {2, 0.292336001340778},
                           {3, 0.191004871150323}, {4, 0.0497325685920211}, {5, 0.93537943559528},
                           {6, 0.890542352238015}, {8, 0.519347490644621},  {9, 0.531364469164948},
                           {11, 0.581641291370846}};
  for (const CdfCase& c : cases) {
    const FamilyCase& one = kCases[c.row];
    EXPECT_NEAR(family_of(one)->cdf(one.y, one.eta, one.own.data(), one.trials), c.cdf, 1e-12) << one.name;
  }
}

// Short sums and the incomplete beta function, on both sides of where one takes the other's place.
TEST(ResponseFamilies, CountsBelowAreSumsOfProbabilities) {
  for (const Distribution distribution : {Distribution::poisson, Distribution::negative_binomial})
    for (const double eta : {-2., 1.5, 4.}) {
      const bool shaped = distribution == Distribution::negative_binomial;
      const auto family = make_response_family(
          distribution, Link::log,
          shaped ? default_own_parameters(distribution, Vector::Ones(3)) : std::vector<OwnParameter>{});
      for (const double own : {-1., 6.5}) {
        double sum = 0;
        for (double y = 0; y <= 120; ++y) {
          const ResponseRows row{&y, nullptr, nullptr, 1};
          double constant = 0, value = 0;
          family->constants(row, &constant);
          family->log_density(row, &eta, &own, &value);
          sum += std::exp(value + constant);
          ASSERT_NEAR(family->cdf(y, eta, &own), sum, 2e-12) << y << " at " << eta << ", " << own;
        }
      }
    }
}

// Derivatives by differences of the order below, for each class; those by cut points go where own_of_row
// says.
TEST(OrderedFamily, DerivativesAreThoseOfFiniteDifferences) {
  constexpr double kStep = 1e-5;
  const auto family = make_ordered_family(4);
  const std::array<double, 3> cuts = {-.8, .1, 1.3};
  const auto at = [&](double y, double eta, const std::array<double, 3>& own) {
    PointDerivatives out;
    family->derivatives({&y, nullptr, nullptr, 1}, &eta, own.data(), &out);
    return out;
  };
  const auto slope = [&](double high, double low) { return (high - low) / (2 * kStep); };
  for (const double y : {0., 1., 2., 3.}) {
    const PointDerivatives here = at(y, .4, cuts), up = at(y, .4 + kStep, cuts),
                           down = at(y, .4 - kStep, cuts);
    EXPECT_NEAR(here.by_eta, slope(up.value, down.value), 1e-8);
    EXPECT_NEAR(here.by_eta2, slope(up.by_eta, down.by_eta), 1e-8);
    EXPECT_NEAR(here.by_eta3, slope(up.by_eta2, down.by_eta2), 1e-8);
    std::array<bool, 3> seen{};
    for (std::size_t k = 0; k < kMostOwnParameters; ++k) {
      const Index cut = family->own_of_row(y, static_cast<Index>(k));
      if (cut < 0) continue;
      seen[static_cast<std::size_t>(cut)] = true;
      auto high = cuts, low = cuts;
      high[static_cast<std::size_t>(cut)] += kStep;
      low[static_cast<std::size_t>(cut)] -= kStep;
      const PointDerivatives above = at(y, .4, high), below = at(y, .4, low);
      EXPECT_NEAR(here.by_own[k], slope(above.value, below.value), 1e-8) << y;
      EXPECT_NEAR(here.by_eta_own[k], slope(above.by_eta, below.by_eta), 1e-8) << y;
      EXPECT_NEAR(here.by_eta2_own[k], slope(above.by_eta2, below.by_eta2), 1e-8) << y;
      for (std::size_t j = 0; j < kMostOwnParameters; ++j)
        EXPECT_NEAR(here.by_own2[k + j], slope(above.by_own[j], below.by_own[j]), 1e-8) << y << k << j;
    }
    for (std::size_t cut = 0; cut < 3; ++cut) {  // the class lies at no other
      if (seen[cut]) continue;
      auto moved = cuts;
      moved[cut] += .01;
      EXPECT_EQ(at(y, .4, moved).value, here.value);
    }
  }
}

// plogis(c(-.8, .1, 1.3) - .4) = 0.2314752, 0.4255575, 0.7109495
TEST(OrderedFamily, ProbabilitiesMomentsAndDraws) {
  const auto family = make_ordered_family(4);
  const std::array<double, 3> cuts = {-.8, .1, 1.3};
  const std::array<double, 4> probability = {0.2314752, 0.4255575 - 0.2314752, 0.7109495 - 0.4255575,
                                             1 - 0.7109495};
  double sum = 0, mean = 0, square = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    const double y = static_cast<double>(k), eta = .4;
    double value = 0;
    family->log_density({&y, nullptr, nullptr, 1}, &eta, cuts.data(), &value);
    EXPECT_NEAR(std::exp(value), probability[k], 1e-7);
    sum += probability[k];
    mean += y * probability[k];
    square += y * y * probability[k];
    EXPECT_NEAR(family->cdf(y, .4, cuts.data()), sum, 1e-7);
  }
  EXPECT_NEAR(family->mean(.4, cuts.data()), mean, 1e-6);
  EXPECT_NEAR(family->variance(.4, cuts.data()), square - mean * mean, 1e-6);
  std::mt19937_64 generator(3);
  constexpr Index kDraws = 20000;
  double drawn = 0;
  for (Index s = 0; s < kDraws; ++s) drawn += family->simulate(.4, cuts.data(), 1, generator) / kDraws;
  EXPECT_NEAR(drawn, mean, 4 * std::sqrt((square - mean * mean) / kDraws));
}

TEST(ResponseFamilies, FarOutThereIsNoOverflow) {
  const double one = 1;
  const double zero = 0;
  PointDerivatives point;
  for (const Link link : {Link::logit, Link::probit, Link::cloglog}) {
    const auto family = make_response_family(Distribution::bernoulli, link, {});
    for (const double eta : {-800.0, -60.0, -38.0, -36.0, 36.0, 60.0}) {
      for (const double* y : {&one, &zero}) {
        family->derivatives({y, nullptr, nullptr, 1}, &eta, nullptr, &point);
        EXPECT_LE(point.value, 0) << to_string(link) << eta;
        EXPECT_LE(point.by_eta2, 1e-12) << to_string(link) << eta;
        EXPECT_TRUE(std::isfinite(point.by_eta3)) << to_string(link) << eta;
      }
    }
  }
  // pnorm(-40, log.p = TRUE)
  const double eta = -40;
  make_response_family(Distribution::bernoulli, Link::probit, {})
      ->derivatives({&one, nullptr, nullptr, 1}, &eta, nullptr, &point);
  EXPECT_NEAR(point.value, -804.608442013754, 1e-10);
}

TEST(ResponseFamilies, NamesLinksAndRowsThatCannotBeMeant) {
  EXPECT_EQ(parse_distribution("negbinomial"), Distribution::negative_binomial);
  EXPECT_EQ(parse_distribution("Gamma"), Distribution::gamma);
  EXPECT_EQ(parse_distribution(to_string(Distribution::student_t)), Distribution::student_t);
  EXPECT_THROW(parse_distribution("gaussan"), UsageError);
  EXPECT_EQ(parse_link("probit"), Link::probit);
  EXPECT_THROW(parse_link("cauchit"), UsageError);
  EXPECT_THROW(check_link(Distribution::poisson, Link::logit), UsageError);
  EXPECT_THROW(make_response_family(Distribution::gaussian, Link::identity, {}), UsageError);
  EXPECT_THROW(make_response_family(Distribution::ordered, Link::logit, {}), UsageError);

  const auto binomial = make_response_family(Distribution::binomial, Link::logit, {});
  const double y[] = {1, 4};
  const double trials[] = {2, 3};
  const double status[] = {1, 0};
  EXPECT_EQ(binomial->validate({y, trials, nullptr, 2}).front(),
            "the response in row 2 is 4, but it must be a count of successes out of 3 trials for the family "
            "binomial");
  const auto poisson = make_response_family(Distribution::poisson, Link::log, {});
  EXPECT_EQ(poisson->validate({y, nullptr, status, 2}).front(),
            "row 2 is censored, but the family poisson takes no censored rows; use weibull or exponential");
  const double negative[] = {-1};
  EXPECT_EQ(make_response_family(Distribution::exponential, Link::log, {})
                ->validate({negative, nullptr, nullptr, 1})
                .front(),
            "the response in row 1 is -1, but it must be positive for the family exponential");
}

// dexp(exp(.3), .5, log = TRUE) + .3; dgamma(exp(.3), 2, .1, log = TRUE) + .3;
// dgamma(exp(-.3), .4, .3, log = TRUE) - .3; log(2) + dt(exp(.3) / 2.5, 3, log = TRUE) - log(2.5) + .3
TEST(PositivePriors, DensitiesAreRsAndExpectationsHaveTheirDerivatives) {
  const std::pair<PositivePrior, double> cases[] = {
      {PositivePrior::exponential(.5), -1.06807658434795},
      {PositivePrior::gamma(2, .1), -4.14015606674569},
      {PositivePrior::inverse_gamma(.4, .3), -1.62051240563667},
      {PositivePrior::half_student_t(3, 2.5), -1.10951830161401}};
  for (const auto& [prior, expected] : cases) {
    const LogScaleDensity here = prior.at(.3);
    EXPECT_NEAR(here.value, expected, 1e-13) << prior.to_string();
    constexpr double kStep = 1e-5;
    EXPECT_NEAR(here.first, (prior.at(.3 + kStep).value - prior.at(.3 - kStep).value) / (2 * kStep), 1e-9);
    EXPECT_NEAR(here.second, (prior.at(.3 + kStep).first - prior.at(.3 - kStep).first) / (2 * kStep), 1e-9);
    EXPECT_NEAR(prior.at(prior.mode()).first, 0, 1e-12) << prior.to_string();

    const NuisanceSums point = prior.expect({.3, 0});
    EXPECT_NEAR(point.value, here.value, 1e-12);
    EXPECT_NEAR(point.slope, here.first, 1e-12);
    EXPECT_NEAR(point.curvature, -here.second, 1e-12);
    const auto value = [&p = prior](double m, double v) { return p.expect({m, v}).value; };
    const NuisanceSums wide = prior.expect({.3, .4});
    EXPECT_NEAR(wide.slope, (value(.3 + kStep, .4) - value(.3 - kStep, .4)) / (2 * kStep), 1e-8);
    EXPECT_NEAR(wide.curvature, -(value(.3, .4 + kStep) - value(.3, .4 - kStep)) / kStep, 1e-8);
  }
  EXPECT_THROW(PositivePrior::exponential(0), UsageError);
  EXPECT_EQ(PositivePrior::exponential(.5).to_string(), "exponential(0.5)");
}

}  // namespace
}  // namespace magva
