// ELBOs from draws.
#include "core/elbo.hpp"

#include <gtest/gtest.h>

namespace magva {
namespace {

// Draws that are added later are those of an estimate in one go, to the bit.
TEST(ElboEstimate, ExtendedIsThatOfAllDraws) {
  const auto model = make_model(3, [](ConstVectorRef theta, VectorRef gradient) {
    gradient = -theta.array().cube();
    return -.25 * theta.array().pow(4).sum();
  });
  const Gaussian q =
      Gaussian::low_rank(Vector{{.1, -.2, .3}}, Matrix{{.5}, {-.2}, {.1}}, Vector{{.4, .5, .6}});
  Evaluator evaluator(model, 1);
  const ElboEstimate whole = estimate_elbo(evaluator, q, 700, 4);
  ElboEstimate extended = estimate_elbo(evaluator, q, 32, 4);
  EXPECT_EQ(extended.log_weights, whole.log_weights.head(32));
  extend_estimate(evaluator, q, 300, 4, extended);
  extend_estimate(evaluator, q, 700, 4, extended);
  EXPECT_EQ(extended.log_weights, whole.log_weights);
  EXPECT_EQ(extended.elbo, whole.elbo);
  EXPECT_EQ(extended.se, whole.se);
  extend_estimate(evaluator, q, 100, 4, extended);  // has them already
  EXPECT_EQ(extended.log_weights.size(), 700);
}

}  // namespace
}  // namespace magva
