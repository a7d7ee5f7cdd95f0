// An iteration allocates nothing. Counted at malloc itself, in a program of its own: Eigen's products take
// their packing buffers from there, where a count of operator new sees nothing.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>

#include "algorithm1/fitter.hpp"

extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* old, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace {
std::atomic<long> allocations{0};
}

extern "C" {
void* malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
  ++allocations;
  return __libc_realloc(old, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, size_t alignment, size_t size) {
  ++allocations;
  *out = __libc_memalign(alignment, size);
  return *out == nullptr ? 12 : 0;
}
}

namespace magva {
namespace {

TEST(Allocation, IsCounted) {
  const long before = allocations;
  std::free(std::malloc(100));
  delete new Matrix(10, 10);
  EXPECT_GE(allocations - before, 3);
}

struct Size {
  Index m, p, draws;
  int threads;
};

class NoAllocation : public testing::TestWithParam<Size> {};

TEST_P(NoAllocation, PerIterationInAnyFamilyRuleOrEstimator) {
  const auto [m, p, draws, threads] = GetParam();
  const auto model = make_model(m, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta;
    return -.5 * theta.squaredNorm();
  });
  for (const FamilyKind family : {FamilyKind::kMeanField, FamilyKind::kVafc, FamilyKind::kStiefel,
                                  FamilyKind::kGrassmann, FamilyKind::kFixedRank, FamilyKind::kFullRank})
    for (const RuleKind rule :
         {RuleKind::kBasic, RuleKind::kMomentum, RuleKind::kRmsprop, RuleKind::kAdadelta,
          RuleKind::kAdadeltaGuarded, RuleKind::kRmspropStable, RuleKind::kAdadeltaStable, RuleKind::kAdam})
      for (const Estimator estimator : {Estimator::kEntropy, Estimator::kPath}) {
        if (family == FamilyKind::kFullRank && m > 1000) continue;
        FitterOptions options;
        options.family = family;
        options.rank = p;
        options.draws = draws;
        options.threads = threads;
        options.estimator = estimator;
        options.factor_rule = options.mean_rule = options.scale_rule = rule_defaults(rule);
        for (RuleOptions* r : {&options.factor_rule, &options.mean_rule, &options.scale_rule}) r->step = 1e-4;
        options.natural_mean = true;
        options.average_last = 1;
        Fitter fitter(model, options);
        fitter.step();
        const long before = allocations;
        for (int t = 0; t < 3; ++t) fitter.step();
        EXPECT_EQ(allocations - before, 0) << name(family) << " " << name(rule) << " " << name(estimator);
      }
}

INSTANTIATE_TEST_SUITE_P(Sizes, NoAllocation,
                         testing::Values(Size{5, 2, 1, 1}, Size{112, 4, 8, 1}, Size{300, 40, 48, 2},
                                         Size{40'000, 10, 4, 2}));

}  // namespace
}  // namespace magva
