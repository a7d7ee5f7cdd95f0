#include "stan/digest.hpp"

#include <gtest/gtest.h>

namespace magva::stan {
namespace {

std::string digest(std::initializer_list<std::string_view> texts) {
  Digest digest;
  for (const auto text : texts) digest.add(text);
  return digest.hex();
}

TEST(Digest, IsSha256OfLengthsAndTexts) {
  // printf '3:abc' | sha256sum
  EXPECT_EQ(digest({"abc"}), "aab5f9ae99b2e38fb462025c8f72f570c9c811705d2a4277dc855d7fa293fe97");
}

TEST(Digest, TellsSequencesApart) { EXPECT_NE(digest({"ab", "c"}), digest({"a", "bc"})); }

}  // namespace
}  // namespace magva::stan
