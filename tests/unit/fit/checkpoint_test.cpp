// A fit that is interrupted anywhere and resumed has the bits of one that was not, whatever the way of
// fitting.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include "magva/error.hpp"
#include "magva/fit.hpp"
#include "magva/minibatch.hpp"
#include "statistical/targets.hpp"
#include "support/checksum.hpp"
#include "support/targets.hpp"
#include "support/temporary_folder.hpp"
#include "unit/model/support.hpp"

namespace magva {
namespace {

void expect_same_bits(const FitResult& a, const FitResult& b, const std::string& when) {
  EXPECT_EQ(a.posterior.mean(), b.posterior.mean()) << when;
  EXPECT_EQ(a.posterior.factors(), b.posterior.factors()) << when;
  EXPECT_EQ(a.posterior.residual_sd(), b.posterior.residual_sd()) << when;
  EXPECT_EQ(a.elbo, b.elbo) << when;
  EXPECT_EQ(a.gradient_evaluations, b.gradient_evaluations) << when;
  EXPECT_EQ(a.iterations, b.iterations) << when;
  EXPECT_EQ(a.stop_detail, b.stop_detail) << when;
  EXPECT_EQ(a.starts.size(), b.starts.size()) << when;
  EXPECT_EQ(a.rank_path.size(), b.rank_path.size()) << when;
  EXPECT_EQ(a.warnings.size(), b.warnings.size()) << when;
  EXPECT_EQ(a.shapes.size(), b.shapes.size()) << when;
}

/// Interrupts the fit at several of the moments at which observers are called, and resumes it.
void expect_resumed_equals_whole(const Model& model, FitOptions options, int interrupts) {
  const test::TemporaryFolder folder;
  CheckpointOptions checkpoint;
  checkpoint.path = folder.path() / "checkpoint";
  checkpoint.every = 1e-9;
  checkpoint.identity = "this fit";
  int calls = 0;
  const FitResult whole = fit(model, options, {[&](const FitView&) {
                                ++calls;
                                return true;
                              }});
  for (int k = 1; k <= interrupts; ++k) {
    std::filesystem::remove(checkpoint.path);
    const int last = k * calls / (interrupts + 1);
    int call = 0;
    checkpoint.resume = false;
    options.checkpoint = checkpoint;
    fit(model, options, {[&](const FitView&) { return ++call < last; }});
    options.checkpoint->resume = std::filesystem::exists(checkpoint.path);
    expect_same_bits(whole, fit(model, options), "interrupted at call " + std::to_string(last));
  }
}

TEST(Checkpoints, OfTheDefaultWithLowRank) {
  const auto model = test::logistic_target(test::random_matrix(60, 8, 1), test::random_labels(60, 2), 10);
  FitOptions options;
  options.expectations = Expectations::kDraws;
  options.rank = 2;
  expect_resumed_equals_whole(model, options, 12);
}

TEST(Checkpoints, OfTheDefaultWithFullRankAndTwoModes) {
  const auto model = targets::two_modes(3, 2);
  FitOptions options;
  expect_resumed_equals_whole(model, options, 8);
}

TEST(Checkpoints, OfTheDefaultWithASketchedCurvature) {
  const auto model = targets::student(2100);
  FitOptions options;
  options.rank = 1;
  options.starts = 1;
  options.max_iterations = 6;
  options.diagnostic_draws = 100;
  expect_resumed_equals_whole(model, options, 1);
}

TEST(Checkpoints, OfTheDefaultWithASparsePrecision) {
  constexpr Index kSize = 140;
  const auto model = make_model(kSize, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = 1 - theta.array().exp();
    const Vector step = theta.tail(kSize - 1) - theta.head(kSize - 1);
    gradient.head(kSize - 1) += 20 * step;
    gradient.tail(kSize - 1) -= 20 * step;
    return (theta.array() - theta.array().exp()).sum() - 10 * step.squaredNorm();
  });
  FitOptions options;
  options.starts = 2;
  options.max_iterations = 12;
  options.diagnostic_draws = 100;
  expect_resumed_equals_whole(model, options, 3);
}

// The effects of 62 groups, whose sd makes a mixture that is found first, and eight parameters with t
// distributions, of which that mixture leaves one in doubt.
TEST(Checkpoints, OfTheDefaultWithAMixtureInDoubt) {
  constexpr Index kGroups = 62;
  constexpr Index kTails = 8;
  const auto model = make_model(1 + kGroups + kTails, [](ConstVectorRef theta, VectorRef gradient) {
    const double log_sd = theta(0);
    const auto effect = theta.segment(1, kGroups).array();
    const auto tail = theta.tail(kTails).array();
    const double precision = std::exp(-2 * log_sd);
    const Vector residual = effect - Vector::LinSpaced(kGroups, -2, 2).array();
    gradient(0) = precision * effect.square().sum() - kGroups - log_sd;
    gradient.segment(1, kGroups) = -precision * effect.matrix() - residual;
    gradient.tail(kTails) = -6 * tail / (5 + tail.square());
    return -.5 * precision * effect.square().sum() - kGroups * log_sd - .5 * log_sd * log_sd -
           .5 * residual.squaredNorm() - 3 * (1 + tail.square() / 5).log().sum();
  });
  FitOptions options;
  options.starts = 2;
  expect_resumed_equals_whole(model, options, 1);
}

TEST(Checkpoints, OfMinibatches) {
  const RowMatrix x = testing::random_design(2000, 4, 31);
  const Vector y = x * testing::normal_matrix(4, 1, 32) + testing::normal_matrix(2000, 1, 33);
  const auto full = std::make_shared<const Regression>(
      linear_regression({Design::own(x), y, {}, {}}, NormalPriorOptions{.variance = 10}, LinearOptions()));
  FitOptions options;
  options.diagnostic_draws = 100;
  options.max_iterations = 50;
  expect_resumed_equals_whole(Minibatch(full, {100, 1, 1}), options, 8);
}

TEST(Checkpoints, OfAlgorithm1) {
  const auto model = test::logistic_target(test::random_matrix(60, 8, 1), test::random_labels(60, 2), 10);
  FitOptions options;
  options.algorithm1.emplace();
  options.max_iterations = 200;
  expect_resumed_equals_whole(model, options, 6);
}

TEST(Checkpoints, OfAnotherFitOrADamagedOneAreRefused) {
  const auto model = test::logistic_target(test::random_matrix(60, 8, 1), test::random_labels(60, 2), 10);
  const test::TemporaryFolder folder;
  FitOptions options;
  options.expectations = Expectations::kDraws;
  options.rank = 2;
  options.checkpoint.emplace();
  options.checkpoint->path = folder.path() / "checkpoint";
  options.checkpoint->identity = "one";
  int call = 0;
  fit(model, options, {[&](const FitView& view) { return view.phase != Phase::kRefinement || ++call < 20; }});
  options.checkpoint->resume = true;
  options.checkpoint->identity = "another";
  EXPECT_THROW(fit(model, options), DataError);
  options.checkpoint->identity = "one";
  const auto other = test::logistic_target(test::random_matrix(60, 7, 1), test::random_labels(60, 2), 10);
  EXPECT_THROW(fit(other, options), DataError);
  std::filesystem::resize_file(options.checkpoint->path,
                               std::filesystem::file_size(options.checkpoint->path) / 2);
  EXPECT_THROW(fit(model, options), DataError);
}

std::vector<char> content_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// One number of the content becomes another; the checksum is right again.
void write_damaged(std::vector<char> content, std::mt19937_64& random, const std::filesystem::path& path) {
  constexpr std::size_t kHeader = 24;
  const double not_a_number = std::numeric_limits<double>::quiet_NaN();
  const std::uint64_t values[] = {
      0, 1, ~0ULL, 1ULL << 40, 1ULL << 62, std::bit_cast<std::uint64_t>(not_a_number), random()};
  content.resize(content.size() - 8);
  const std::size_t at = kHeader + random() % (content.size() - kHeader - 8);
  std::memcpy(content.data() + at, &values[random() % std::size(values)], random() % 8 + 1);
  test::append_checksum(content);
  std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}

/// Goes on from 200 checkpoints that somebody changed who knows how to make a checksum.
void expect_damage_does_no_harm(const Model& model, FitOptions options) {
  const test::TemporaryFolder folder;
  options.checkpoint.emplace();
  options.checkpoint->path = folder.path() / "checkpoint";
  options.checkpoint->every = 1e-9;
  int call = 0;
  fit(model, options, {[&](const FitView&) { return ++call < 60; }});
  const std::vector<char> content = content_of(options.checkpoint->path);
  ASSERT_GT(content.size(), 100U);
  options.checkpoint->resume = true;
  options.time_limit = .02;
  std::mt19937_64 random(5);
  for (int k = 0; k < 200; ++k) {
    write_damaged(content, random, options.checkpoint->path);
    try {
      fit(model, options);
    } catch (const Error& error) {
      EXPECT_NE(error.what()[0], '\0');
    }
  }
}

TEST(Checkpoints, ThatWereDamagedWithARightChecksumDoNoHarm) {
  const auto model = test::logistic_target(test::random_matrix(60, 8, 1), test::random_labels(60, 2), 10);
  FitOptions options;
  options.rank = 2;
  options.diagnostic_draws = 100;
  options.expectations = Expectations::kDraws;
  expect_damage_does_no_harm(model, options);
  options.algorithm1.emplace();
  expect_damage_does_no_harm(model, options);
}

}  // namespace
}  // namespace magva
