// Ranks that each have some rows of a table learn the encoding that one learns from all of them, to the bit,
// and end with their shares of the same rows.
#include "source/shared_sources.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "core/caches.hpp"
#include "magva/distribute.hpp"
#include "magva/error.hpp"
#include "source/model_spec.hpp"
#include "source/shared_rows.hpp"
#include "support/table_of_ranks.hpp"

namespace magva::source {
namespace {

using table::TableRanks;
using test::on_ranks;
using test::TemporaryFolder;

/// Options that differ from the defaults by what `change` does.
template <class Change>
table::DesignOptions columns(const std::string& response, const Change& change) {
  table::DesignOptions options;
  options.response = response;
  change(options);
  return options;
}
table::DesignOptions columns(const std::string& response) {
  return columns(response, [](table::DesignOptions&) {});
}
template <class Change>
RegressionOptions regression(const Change& change) {
  RegressionOptions options;
  change(options);
  return options;
}
template <class Change>
FormulaOptions by_formula(const std::string& formula, const Change& change) {
  FormulaOptions options;
  options.formula = formula;
  change(options);
  return options;
}
FormulaOptions by_formula(const std::string& formula) {
  return by_formula(formula, [](FormulaOptions&) {});
}

constexpr int kFiles = 4;

/// Files of different lengths, one of them without a row that is complete; `twin` equals `a`, `flat` is
/// constant, and only the second file has the level "rare".
class SharedSources : public ::testing::Test {
 protected:
  SharedSources() {
    std::mt19937 noise(7);
    std::normal_distribution<double> normal;
    const int lengths[kFiles] = {90, 40, 15, 75};
    for (int file = 0; file < kFiles; ++file) {
      std::ofstream out(folder_.path() / ("part-" + std::to_string(file) + ".csv"));
      out << "y,n,count,time,status,a,twin,b,flat,site,w\n";
      for (int i = 0; i < lengths[file]; ++i) {
        const double a = normal(noise), b = 3 + normal(noise);
        const bool gap = file == 2 || (file == 3 && i % 9 == 0);
        const std::string site = file == 1 && i % 20 == 3 ? "rare" : i % 3 == 0 ? "north" : "east";
        out << (normal(noise) + a > 0 ? "yes" : "no") << ',' << i % 5 + 3 << ',' << i % 4 << ','
            << std::exp(normal(noise)) << ',' << i % 2 << ',' << a << ',' << a << ','
            << (gap ? "NA" : std::to_string(b)) << ",2," << site << ',' << 1 + i % 3 << '\n';
      }
    }
  }

  std::string files() const { return folder_.path() / "part-*.csv"; }

  /// The rows of a rank's share are those of the same model on one rank, and on the leader all of them.
  static void expect_share_of(const ModelSource& own, const ModelSource& one, const TableRanks& ranks) {
    EXPECT_EQ(to_json(*own.spec), to_json(*one.spec));
    EXPECT_EQ(own.notes, one.notes);
    EXPECT_EQ(own.data.rows, one.data.rows);
    EXPECT_EQ(own.description, one.description);
    EXPECT_EQ(own.start, one.start);
    ASSERT_EQ(own.priors.size(), one.priors.size());
    for (std::size_t j = 0; j < one.priors.size(); ++j) EXPECT_EQ(own.priors[j].text, one.priors[j].text);
    EXPECT_EQ(own.has_all_rows, ranks.leads());
    EXPECT_EQ(own.rows != nullptr, ranks.leads() && one.rows != nullptr);
    expect_same_density(own, one, ranks.rank(), ranks.size());
    if (ranks.leads()) expect_same_density(own, one, 0, 1);
  }

  static void expect_same_density(const ModelSource& own, const ModelSource& one, int rank, int size) {
    const auto a = share_of(dynamic_cast<const Regression&>(*own.model), rank, size);
    const auto b = share_of(dynamic_cast<const Regression&>(*one.model), rank, size);
    const Matrix theta = Vector::LinSpaced(a.dimension(), -.3, .4);
    Workers workers(1);
    Vector density_a(1), density_b(1);
    Matrix gradient_a(a.dimension(), 1), gradient_b(a.dimension(), 1);
    const auto scratch_a = a.make_scratch(1), scratch_b = b.make_scratch(1);
    Evaluation evaluation_a{*scratch_a, workers}, evaluation_b{*scratch_b, workers};
    a.evaluate(theta, density_a, gradient_a, evaluation_a);
    b.evaluate(theta, density_b, gradient_b, evaluation_b);
    EXPECT_EQ(density_a, density_b);
    EXPECT_EQ(gradient_a, gradient_b);
  }

  void expect_table(table::DesignOptions design, const RegressionOptions& options = {}) {
    design.missing = table::MissingPolicy::drop;
    const ModelSource one = make_table_source(table::read_table(files()), design, options);
    for (const int size : {2, 4})
      on_ranks(size, [&](const TableRanks& ranks) {
        expect_share_of(make_shared_table_source(table::read_shared(files(), {}, ranks), design, options),
                        one, ranks);
      });
  }

  void expect_formula(FormulaOptions options) {
    options.missing = table::MissingPolicy::drop;
    const ModelSource one = make_formula_source(table::read_table(files()), options);
    for (const int size : {2, 4})
      on_ranks(size, [&](const TableRanks& ranks) {
        expect_share_of(make_shared_formula_source(table::read_shared(files(), {}, ranks), options), one,
                        ranks);
      });
  }

  const TemporaryFolder folder_;
};

TEST_F(SharedSources, ColumnsOfATable) {
  expect_table(columns("y", [](auto& o) { o.weights = "w"; }));
  expect_table(columns("y", [](auto& o) { o.standardise = true; }));
  expect_table(columns("y", [](auto& o) { o.discretise = table::Discretise::mdlp; }));
  expect_table(columns("count"));
  expect_table(columns("time", [](auto& o) { o.excluded = {"b"}; }),
               regression([](auto& o) { o.single_precision = true; }));
  expect_table(columns("time"), regression([](auto& o) { o.prior = PriorKind::horseshoe; }));
}

TEST_F(SharedSources, Formulas) {
  expect_formula(by_formula("y ~ ."));
  expect_formula(by_formula("y ~ scale(b)*site + poly(a, 3) + log(w)"));
  expect_formula(by_formula("y ~ 0 + C(site, base=north) + factor(w) + s(b)",
                            [](auto& o) { o.joint_smooths = true; }));  // as ranks have them always
  expect_formula(by_formula("time ~ a + b + offset(log(w))", [](auto& o) {
    o.family = Distribution::gamma;
    o.weights = "n";
  }));
  expect_formula(by_formula("Surv(time, status) ~ a + b"));
  expect_formula(by_formula("count | trials(n) ~ b", [](auto& o) { o.standardise = true; }));
  expect_formula(
      by_formula("count ~ a:b + site", [](auto& o) { o.family = Distribution::negative_binomial; }));
}

/// One file for all: each rank keeps its rows.
TEST_F(SharedSources, OneFile) {
  const auto design = columns("y", [](auto& o) { o.missing = table::MissingPolicy::drop; });
  const std::string file = folder_.path() / "part-0.csv";
  const ModelSource one = make_table_source(table::read_table(file), design, {});
  on_ranks(3, [&](const TableRanks& ranks) {
    expect_share_of(make_shared_table_source(table::read_shared(file, {}, ranks), design, {}), one, ranks);
  });
}

/// Whole numbers that take one byte each in one process do so on ranks, if all of them are such.
TEST_F(SharedSources, SmallIntegersBeyondTheCaches) {
  const Index width = 1'000;
  const Index rows = 2 * (detail::cache_sizes().last / (width * 2 * static_cast<Index>(sizeof(double))) + 8);
  RowMatrix x = RowMatrix::Ones(rows, width);
  on_ranks(2, [&](const TableRanks& ranks) {
    const Index half = rows / 2;
    const RowMatrix own = x.middleRows(ranks.rank() * half, half);
    const SharedDesign shared = share_design(own, ranks);
    EXPECT_TRUE(std::holds_alternative<DenseRows<std::int8_t>>(shared.design.storage()));
    RowMatrix other = own;
    if (ranks.rank() == 1) other(half - 1, width - 1) = .5;
    EXPECT_TRUE(
        std::holds_alternative<DenseRows<double>>(share_design(std::move(other), ranks).design.storage()));
  });
}

template <class Error, class Work>
void expect_said_by_all(const std::string& part, const Work& work) {
  on_ranks(4, [&](const TableRanks& ranks) {
    try {
      work(ranks);
      ADD_FAILURE() << part;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  });
}

TEST_F(SharedSources, WhatOneRanksRowsDoNotAllowAllSay) {
  const auto table = [&](const table::DesignOptions& design, const RegressionOptions& options = {}) {
    return [this, design, options](const TableRanks& ranks) {
      make_shared_table_source(table::read_shared(files(), {}, ranks), design, options);
    };
  };
  const auto formula = [&](const FormulaOptions& options) {
    return [this, options](const TableRanks& ranks) {
      make_shared_formula_source(table::read_shared(files(), {}, ranks), options);
    };
  };
  expect_said_by_all<DataError>("part-2.csv, line 2, column 'b'", table(columns("y")));
  expect_said_by_all<DataError>("nothing", table(columns("nothing")));
  expect_said_by_all<DataError>("part-0.csv, line", formula(by_formula("count ~ log(a)")));
  expect_said_by_all<UsageError>("one linear predictor", formula(by_formula("count ~ a + (1 | site)")));
  expect_said_by_all<UsageError>(
      "one linear predictor",
      formula(by_formula("count ~ a", [](auto& o) { o.family = Distribution::ordered; })));
  std::ofstream(folder_.path() / "part-3.csv", std::ios::app) << "maybe,3,1.5,1,1,1,1,1,2,east,-1\n";
  expect_said_by_all<DataError>("part-3.csv, line 77",
                                table(columns("count", [](auto& o) { o.columns = {"a"}; }),
                                      regression([](auto& o) { o.model = RegressionKind::poisson; })));
  expect_said_by_all<DataError>("part-3.csv, line 77, column 'w'", table(columns("a", [](auto& o) {
                                  o.weights = "w";
                                  o.columns = {"time"};
                                })));
}

}  // namespace
}  // namespace magva::source
