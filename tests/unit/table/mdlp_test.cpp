#include "table/mdlp.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "magva/table.hpp"
#include "table/byte_source.hpp"
#include "table/message.hpp"
#include "unit/table/support.hpp"

namespace magva::table {
namespace {

LearntDesign expanded_ionosphere() {
  const Table table = read_table((test::source_folder() / "data/ionosphere.csv").string());
  DesignOptions options;
  options.response = "Class";
  options.discretise = Discretise::mdlp;
  return learn_design(table, options);
}

std::string as_csv(const EncodedRows& design) {
  std::string text;
  for (Index j = 1; j < design.x.cols(); ++j) text += design.names[static_cast<std::size_t>(j)] + ",";
  text += "y\n";
  for (Index i = 0; i < design.x.rows(); ++i) {
    for (Index j = 1; j < design.x.cols(); ++j) text += number_text(design.x(i, j)) + ",";
    text += number_text(design.y(i)) + "\n";
  }
  return text;
}

TEST(Mdlp, ExpandsIonosphereToThePinnedDesign) {
  const LearntDesign learnt = expanded_ionosphere();
  const EncodedRows& design = learnt.design;
  ASSERT_EQ(design.x.rows(), 351);
  ASSERT_EQ(design.x.cols(), 112);
  EXPECT_TRUE((design.x.col(0).array() == 1).all());
  EXPECT_EQ(design.names[0], "(Intercept)");
  ASSERT_EQ(learnt.spec.dropped.size(), 1U);
  EXPECT_EQ(learnt.spec.dropped[0].name, "V2");
  // The digest of the reference design's file, which the next test compares cell by cell where it is there.
  Sha256 sha;
  const std::string text = as_csv(design);
  sha.update(text.data(), text.size());
  EXPECT_EQ(sha.hex(), "5d0bd633de40c6c2503bb4d645335884c29f2b7d269c28451073af464315ea2e");
}

TEST(Mdlp, ExpandsIonosphereToTheReferenceDesign) {
  const auto path = test::shared_folder() / "data" / "ionosphere_111.csv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the reference design is not on this machine";
  const Table reference = read_table(path.string());
  const EncodedRows design = expanded_ionosphere().design;
  ASSERT_EQ(reference.columns.size(), 112U);
  ASSERT_EQ(reference.rows, design.x.rows());
  for (Index j = 1; j < design.x.cols(); ++j) {
    const Column& column = reference.columns[static_cast<std::size_t>(j - 1)];
    EXPECT_EQ(design.names[static_cast<std::size_t>(j)], column.name);
    EXPECT_EQ(design.x.col(j), column.values.vector()) << column.name;
  }
  EXPECT_EQ(design.y, reference.columns.back().values.vector());
}

TEST(Mdlp, CutsWhereTheClassesChange) {
  std::vector<double> values;
  std::vector<int> classes;
  for (int i = 0; i < 60; ++i) {
    values.push_back(i);
    classes.push_back(i < 20 || i >= 40 ? 0 : 1);
  }
  EXPECT_EQ(mdlp_cuts(values, classes, 2), (std::vector<double>{19.5, 39.5}));
}

TEST(Mdlp, MakesNoCutWhereThereIsNothingToLearn) {
  EXPECT_TRUE(
      mdlp_cuts(std::vector<double>(10, 3.0), std::vector<int>{0, 1, 0, 1, 0, 1, 0, 1, 0, 1}, 2).empty());
  EXPECT_TRUE(mdlp_cuts(std::vector<double>{1, 2, 3, 4}, std::vector<int>{0, 0, 0, 0}, 2).empty());
  EXPECT_TRUE(
      mdlp_cuts(std::vector<double>{1, 2, 3, 4, 5, 6}, std::vector<int>{0, 1, 0, 1, 0, 1}, 2).empty());
  EXPECT_TRUE(mdlp_cuts(std::vector<double>{}, std::vector<int>{}, 2).empty());
  EXPECT_TRUE(mdlp_cuts(std::vector<double>{1}, std::vector<int>{0}, 2).empty());
}

TEST(Mdlp, AcceptsACutByTheDescriptionLength) {
  // n rows split perfectly in halves: the gain is 1 bit, the cost (log2(n - 1) + log2(7) - 2) / n, so that
  // the smallest accepted n is the first with n > log2(n - 1) + .807: n = 4 (4 > 2.39); 2 (2 > .807) is
  // accepted as well, since log2(1) = 0.
  EXPECT_EQ(mdlp_cuts(std::vector<double>{1, 2, 3, 4}, std::vector<int>{0, 0, 1, 1}, 2),
            std::vector<double>{2.5});
  // One odd row among six: gain .65 - .0 = H(1/6) = .650, cost (log2(5) + log2(7) - 2 * .650) / 6 = .638:
  // accepted; one among five: H(1/5) = .722, cost (2 + 2.807 - 1.444) / 5 = .673: accepted; not split off
  // perfectly: refused.
  EXPECT_EQ(mdlp_cuts(std::vector<double>{1, 2, 3, 4, 5, 6}, std::vector<int>{1, 0, 0, 0, 0, 0}, 2),
            std::vector<double>{1.5});
  EXPECT_TRUE(
      mdlp_cuts(std::vector<double>{1, 2, 3, 4, 5, 6}, std::vector<int>{0, 1, 0, 0, 0, 0}, 2).empty());
}

TEST(Mdlp, CutsBetweenNeighbouringAndHugeNumbers) {
  const double next = std::nextafter(1.0, 2.0);
  std::vector<double> values;
  std::vector<int> classes;
  for (int i = 0; i < 20; ++i) {
    values.push_back(i < 10 ? 1.0 : next);
    classes.push_back(i < 10 ? 0 : 1);
  }
  const auto cuts = mdlp_cuts(values, classes, 2);
  ASSERT_EQ(cuts.size(), 1U);
  EXPECT_EQ(bin_of(1.0, cuts), 0);
  EXPECT_EQ(bin_of(next, cuts), 1);
  for (double& value : values) value = value == 1.0 ? 1e308 : 1.7e308;
  EXPECT_EQ(mdlp_cuts(values, classes, 2), std::vector<double>{1.35e308});
}

TEST(Mdlp, PutsAValueThatEqualsACutIntoTheLowerBin) {
  const std::vector<double> cuts = {0, 1};
  EXPECT_EQ(bin_of(-1, cuts), 0);
  EXPECT_EQ(bin_of(0, cuts), 0);
  EXPECT_EQ(bin_of(.5, cuts), 1);
  EXPECT_EQ(bin_of(1, cuts), 1);
  EXPECT_EQ(bin_of(2, cuts), 2);
}

}  // namespace
}  // namespace magva::table
