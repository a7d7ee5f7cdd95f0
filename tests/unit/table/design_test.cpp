#include "magva/table.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "magva/error.hpp"
#include "table/design_spec.hpp"
#include "unit/table/support.hpp"

namespace magva::table {
namespace {

using test::sentence;
using test::table_of;
using Names = std::vector<std::string>;

DesignOptions respond(const std::string& response, ResponseKind kind = ResponseKind::real) {
  DesignOptions options;
  options.response = response;
  options.kind = kind;
  return options;
}

std::string fault(std::string_view text, const DesignOptions& options) {
  return sentence<DataError>([&] { learn_design(table_of(text), options); });
}

bool says(const EncodedRows& design, const std::string& note) {
  return std::find(design.notes.begin(), design.notes.end(), note) != design.notes.end();
}

TEST(EncodedRows, PutsTheInterceptFirstAndIndicatorsAgainstTheMostFrequentLevel) {
  const Table table = table_of("y,x,colour\n1,2,red\n2,3,blue\n3,5,red\n4,7,green\n");
  const auto [spec, design] = learn_design(table, respond("y"));
  EXPECT_EQ(design.names, (Names{"(Intercept)", "x", "colour[blue]", "colour[green]"}));
  RowMatrix expected(4, 4);
  expected << 1, 2, 0, 0, 1, 3, 1, 0, 1, 5, 0, 0, 1, 7, 0, 1;
  EXPECT_EQ(design.x, expected);
  EXPECT_EQ(design.y, Vector::LinSpaced(4, 1, 4));
  EXPECT_TRUE(says(design, "text column 'colour': 3 levels, baseline 'red' (2 rows)"));
}

TEST(EncodedRows, StandardisesNumbersOnly) {
  DesignOptions options = respond("y");
  options.standardise = true;
  const auto [spec, design] = learn_design(table_of("y,x,c\n1,2,a\n2,4,b\n3,9,a\n"), options);
  EXPECT_NEAR(design.x.col(1).mean(), 0, 1e-15);
  EXPECT_NEAR(design.x.col(1).squaredNorm(), 2, 1e-14);
  EXPECT_EQ(design.x.col(2), Vector({{0, 1, 0}}));
  const EncodedRows other = encode(spec, table_of("x,c\n5,b\n"));
  EXPECT_NEAR(other.x(0, 1), 0, 1e-15);
  EXPECT_EQ(other.x(0, 2), 1);
}

TEST(EncodedRows, DropsConstantAndDuplicatedColumnsAndNamesThem) {
  const Table table = table_of("y,a,k,b,c,t,male,sex\n1,1,7,1,5,q,1,m\n2,2,7,2,5,q,0,f\n3,4,7,4,6,q,0,f\n");
  const auto [spec, design] = learn_design(table, respond("y"));
  EXPECT_EQ(design.names, (Names{"(Intercept)", "a", "c", "male"}));
  EXPECT_TRUE(says(design, "dropped 'k' and 't' (constant)"));
  EXPECT_TRUE(says(design, "dropped 'b' (equals 'a')"));
  EXPECT_TRUE(says(design, "dropped 'sex[m]' (equals 'male')"));
  const EncodedRows other = encode(spec, table_of("a,c,male\n1,5,1\n"));
  EXPECT_EQ(other.x.row(0), Eigen::RowVectorXd({{1, 1, 5, 1}}));
}

TEST(EncodedRows, WithoutEqualColumnsAreWhatTheSpecificationEncodes) {
  for (const std::string text : {"a,b,c,y\n1,1,u,1\n2,2,v,0\n4,4,u,1\n3,3,w,1\n",
                                 // the third row is complete only without b
                                 "a,b,c,y\n1,1,u,1\n2,2,v,0\n4,,u,1\n3,3,w,1\n"}) {
    DesignOptions options;
    options.response = "y";
    options.missing = MissingPolicy::drop;
    const Table table = table_of(text);
    const auto [spec, design] = learn_design(table, options);
    EXPECT_TRUE(says(design, "dropped 'b' (equals 'a')"));
    const EncodedRows again = encode(spec, table, MissingPolicy::drop);
    EXPECT_EQ(design.x, again.x);
    EXPECT_EQ(design.names, again.names);
    EXPECT_EQ(design.rows, again.rows);
    EXPECT_EQ(design.y, again.y);
    EXPECT_EQ(design.size(), 4);
  }
}

TEST(EncodedRows, CodesTwoClasses) {
  const auto binary = respond("y", ResponseKind::binary);
  EXPECT_EQ(learn_design(table_of("y,x\n0,1\n1,2\n0,3\n"), binary).design.y, Vector({{0, 1, 0}}));
  EXPECT_EQ(learn_design(table_of("y,x\n-1,1\n1,2\n-1.0,3\n"), binary).design.y, Vector({{0, 1, 0}}));
  const auto [spec, design] = learn_design(table_of("y,x\ng,1\nb,2\ng,3\n"), binary);
  EXPECT_EQ(design.y, Vector({{1, 0, 1}}));
  EXPECT_EQ(spec.response.classes, (Names{"b", "g"}));
  EXPECT_TRUE(says(design, "response 'y': 1 stands for 'g' (2 rows), 0 for 'b' (1 rows)"));
  DesignOptions reversed = binary;
  reversed.positive_class = "b";
  EXPECT_EQ(learn_design(table_of("y,x\ng,1\nb,2\ng,3\n"), reversed).design.y, Vector({{0, 1, 0}}));
  reversed.positive_class = "c";
  EXPECT_THROW(learn_design(table_of("y,x\ng,1\nb,2\ng,3\n"), reversed), UsageError);
  EXPECT_EQ(fault("y,x\ng,1\ng,2\n", binary),
            "data.csv: the response 'y' has a single class, 'g'; two are needed");
  EXPECT_EQ(
      fault("y,x\n1,1\n2,2\n3,3\n", binary),
      "data.csv: the response 'y' has 3 different values ('1', '2' and '3') where two classes are needed");
}

TEST(EncodedRows, ChecksRealAndCountResponses) {
  EXPECT_EQ(fault("y,x\na,1\nb,2\n", respond("y")),
            "data.csv: the response 'y' must hold numbers, but holds text such as 'a'");
  EXPECT_EQ(fault("y,x\n3,1\n3,2\n", respond("y")),
            "data.csv: the response 'y' is 3 in every row; there is nothing to explain");
  const auto count = respond("y", ResponseKind::count);
  EXPECT_EQ(learn_design(table_of("y,x\n0,1\n12,2\n"), count).design.y, Vector({{0, 12}}));
  EXPECT_EQ(fault("y,x\n1,1\n2.5,2\n", count),
            "data.csv, line 3, column 'y': 2.5 is not a count; counts are 0, 1, 2, ...");
  EXPECT_EQ(fault("y,x\n1,1\n-2,2\n", count),
            "data.csv, line 3, column 'y': -2 is not a count; counts are 0, 1, 2, ...");
}

TEST(EncodedRows, OffersTheNearestNameForAResponseThatIsNotThere) {
  EXPECT_EQ(fault("Class,x\n1,2\n", respond("class")),
            "data.csv has no column 'class', named as the response (did you mean 'Class'?)");
}

TEST(EncodedRows, RefusesOrDropsMissingValues) {
  const std::string text = "y,x,z,w\n1,NA,1,\n2,3,?,\n3,4,5,\n4,,6,\n5,7,8,\n";
  DesignOptions options = respond("y");
  options.excluded = {"w"};
  EXPECT_EQ(fault(text, options),
            "data.csv has 3 missing values in 3 of 5 rows (line 2, column 'x'; line 3, column 'z'; line 5, "
            "column 'x'); "
            "fill them in, or leave these rows out with --missing drop");
  options.missing = MissingPolicy::drop;
  const EncodedRows design = learn_design(table_of(text), options).design;
  EXPECT_EQ(design.rows, (std::vector<Index>{2, 4}));
  EXPECT_EQ(design.y, Vector({{3, 5}}));
  EXPECT_TRUE(says(design, "3 of 5 rows were left out because of missing values"));
  options.excluded.clear();
  EXPECT_EQ(fault(text, options), "data.csv: every row has a missing value");
}

TEST(EncodedRows, TakesWeightsPredictorsAndExclusions) {
  DesignOptions options = respond("y");
  options.weights = "w";
  options.excluded = {"id"};
  const std::string text = "id,y,x,w\na,1,2,1\nb,2,5,0\nc,3,4,2.5\n";
  const EncodedRows design = learn_design(table_of(text), options).design;
  EXPECT_EQ(design.names, (Names{"(Intercept)", "x"}));
  EXPECT_EQ(design.weights, Vector({{1, 0, 2.5}}));
  EXPECT_EQ(fault("y,x,w\n1,2,1\n2,3,-1\n",
                  [] {
                    auto o = respond("y");
                    o.weights = "w";
                    return o;
                  }()),
            "data.csv, line 3, column 'w': the weight -1 is negative");
  options = respond("y");
  options.columns = {"x"};
  EXPECT_EQ(learn_design(table_of(text), options).design.names, (Names{"(Intercept)", "x"}));
  options.columns = {"y"};
  EXPECT_THROW(learn_design(table_of(text), options), UsageError);
  options.columns = {};
  options.max_levels = 2;
  EXPECT_NE(fault(text, options).find("the text column 'id' has 3 different texts in 3 rows"),
            std::string::npos);
}

TEST(EncodedRows, RefusesCoefficientsOfTheSameName) {
  EXPECT_EQ(fault("y,a,a[v]\n1,u,1\n2,v,5\n3,u,2\n", respond("y")),
            "data.csv: two coefficients would be named 'a[v]'; rename a column");
}

TEST(EncodedRows, AppliesTheSameCodingToNewData) {
  const auto [spec, design] = learn_design(table_of("y,x,c\n1,2,a\n2,4,b\n3,9,a\n"), respond("y"));
  const EncodedRows other = encode(spec, table_of("extra,c,x\nhello,b,1\n"));
  EXPECT_EQ(other.x, RowMatrix({{1, 1, 1}}));
  EXPECT_EQ(other.y.size(), 0);
  EXPECT_EQ(sentence<DataError>([&, &spec = spec] { encode(spec, table_of("X,c\n1,b\n", {}, "new.csv")); }),
            "new.csv has no column 'x', which the fit needs (did you mean 'X'?)");
  EXPECT_EQ(
      sentence<DataError>([&, &spec = spec] { encode(spec, table_of("x,c\n1,b\n1,d\n", {}, "new.csv")); }),
      "new.csv, line 3, column 'c': 'd' is not among the 2 texts that the column has in the data of the fit "
      "('a' and 'b')");
  EXPECT_EQ(sentence<DataError>([&, &spec = spec] { encode(spec, table_of("x,c\nq,b\n", {}, "new.csv")); }),
            "new.csv: column 'x' holds text such as 'q', where the data of the fit hold numbers");
  EXPECT_EQ(encode(spec, table_of("y,x,c\n,1,b\n")).y.size(), 0);
  EXPECT_EQ(encode(spec, table_of("y,x,c\n4,1,b\n")).y, Vector({{4}}));
}

TEST(EncodedRows, ReadsTextThatLooksLikeNumbersAsInTheFit) {
  ReadOptions as_text;
  as_text.text_columns = {"zip"};
  const auto [spec, design] = learn_design(table_of("y,zip\n1,01\n2,02\n3,01\n", as_text), respond("y"));
  ReadOptions as_fit;
  as_fit.column_kinds = spec.column_kinds();
  EXPECT_EQ(encode(spec, table_of("zip\n02\n", as_fit)).x, RowMatrix({{1, 1}}));
}

TEST(EncodedRows, MakesSparseDesignsOfLibsvmFiles) {
  const Table table = table_of("1 1:2 3:1 4:2 6:1\n-1 3:1 5:3 6:1\n1 1:2 3:1 4:2 6:1\n", {}, "d.svm");
  DesignOptions options = respond("", ResponseKind::binary);
  const auto [spec, design] = learn_design(table, options);
  EXPECT_EQ(design.names, (Names{"(Intercept)", "x1", "x5"}));
  EXPECT_EQ(Matrix(design.sparse_x), Matrix({{1, 2, 0}, {1, 0, 3}, {1, 2, 0}}));
  EXPECT_EQ(design.y, Vector({{1, 0, 1}}));
  EXPECT_TRUE(says(design, "1 of 6 features are 0 in every row and were left out"));
  EXPECT_TRUE(says(design, "dropped 'x3' and 'x6' (constant)"));
  const EncodedRows other = encode(spec, table_of("1 2:9 5:1 9:4\n", {}, "n.svm"));
  EXPECT_EQ(Matrix(other.sparse_x), Matrix({{1, 0, 1}}));
  EXPECT_THROW(encode(spec, table_of("x1,x5\n1,2\n")), DataError);
  options.standardise = true;
  const LearntDesign scaled = learn_design(table, options);
  EXPECT_NEAR(scaled.spec.features->scales[0], std::sqrt(4.0 / 3), 1e-15);
  EXPECT_EQ(scaled.design.sparse_x.coeff(1, 1), 0);
}

TEST(EncodedRows, NamesNoFeatureThatNoRowHas) {
  const Table table = table_of("1 1:2 10000000:1\n-1 1:3\n", {}, "d.svm");
  const auto [spec, design] = learn_design(table, respond("", ResponseKind::binary));
  EXPECT_EQ(design.names, (Names{"(Intercept)", "x1", "x10000000"}));
  EXPECT_TRUE(spec.dropped.empty());
  EXPECT_TRUE(says(design, "9999998 of 10000000 features are 0 in every row and were left out"));
}

TEST(DesignSpec, SurvivesJson) {
  DesignOptions options = respond("y", ResponseKind::binary);
  options.standardise = true;
  options.weights = "w";
  const Table table = table_of("y,x,c,k,w\ng,0.1,a,1,1\nb,0.2,b,1,2\ng,0.7,a,1,3\n");
  const auto [spec, design] = learn_design(table, options);
  const auto json = nlohmann::json::parse(to_json(spec).dump());
  const DesignSpec back = design_spec_from_json(json);
  EXPECT_EQ(to_json(back), json);
  const EncodedRows again = encode(back, table);
  EXPECT_EQ(again.x, design.x);
  EXPECT_EQ(again.y, design.y);
  EXPECT_EQ(again.weights, design.weights);
  EXPECT_EQ(again.names, design.names);
}

TEST(DesignSpec, RefusesJsonThatCannotBeOne) {
  const auto good = to_json(learn_design(table_of("y,x,c\n1,2,a\n2,4,b\n3,9,a\n"), respond("y")).spec);
  const auto damaged = [&](const char* pointer, nlohmann::json value) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(pointer)] = std::move(value);
    return sentence<DataError>([&] { design_spec_from_json(bad); });
  };
  const std::string start = "the stored description of the design is damaged: ";
  EXPECT_EQ(damaged("/terms/0/sd", 0), start + "a standard deviation is not positive");
  EXPECT_EQ(damaged("/terms/0/mean", "x"), start + "'mean' is not a finite number");
  EXPECT_EQ(damaged("/terms/1/baseline", 2), start + "'baseline' is out of range");
  EXPECT_EQ(damaged("/terms/1/coded", {7}), start + "'coded' is out of range");
  EXPECT_EQ(damaged("/terms/1/coded", {1, 1}), start + "'coded' names something twice");
  EXPECT_EQ(damaged("/terms/1/levels", {"b", "a"}), start + "levels are not sorted");
  EXPECT_EQ(damaged("/terms/1/kind", "odd"), start + "'odd' is not a kind of term");
  EXPECT_EQ(damaged("/response/kind", "odd"), start + "'odd' is not a kind of response");
  EXPECT_EQ(damaged("/response/classes", {"a"}),
            start + "a binary response needs two classes, any other none");
  EXPECT_EQ(sentence<DataError>([] { design_spec_from_json(nlohmann::json::parse("[]")); }),
            start + "'response' is missing");
}

}  // namespace
}  // namespace magva::table
