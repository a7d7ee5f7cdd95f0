#include <fmt/format.h>

#include <cmath>

#include "experiments/data_files.hpp"
#include "experiments/leukemia.hpp"
#include "magva/table.hpp"

namespace magva::experiments {

namespace {

struct Samples {
  RowMatrix x;
  Vector y;
};

// Columns that are constant in training would be dropped by the general design code; here every probe stays.
Samples from_csv(const std::filesystem::path& path) {
  const table::Table table = table::read_table(path.string());
  const table::Column* label = table.find("label");
  if (label == nullptr || label->kind != table::ColumnKind::text)
    throw DataError(fmt::format("{} has no text column 'label' with the classes ALL and AML", path.string()));
  Samples out{RowMatrix::Ones(table.rows, static_cast<Index>(table.columns.size())), Vector(table.rows)};
  Index j = 1;
  for (const table::Column& column : table.columns)
    if (&column != label) out.x.col(j++) = column.values.vector();
  for (Index i = 0; i < table.rows; ++i) out.y(i) = label->text(i) == "ALL" ? 1 : 0;
  return out;
}

Samples from_libsvm(const std::filesystem::path& path, Index features) {
  table::ReadOptions options;
  options.format = table::Format::libsvm;
  const table::Table table = table::read_table(path.string(), options);
  const auto& sparse = *table.features;
  const Index width = std::max(features, static_cast<Index>(sparse.cols()));
  Samples out{RowMatrix::Zero(table.rows, width + 1), Vector(table.rows)};
  out.x.col(0).setOnes();
  out.x.block(0, 1, table.rows, sparse.cols()) = RowMatrix(sparse);
  out.y = table.columns[0].values.vector();
  return out;
}

// ALL is the larger class among the training samples, whatever number stands for it.
void label_all_as_one(Vector& training, Vector& test) {
  const double first = training(0);
  const auto of_first = (training.array() == first).count();
  const bool first_is_all = 2 * of_first > training.size();
  for (Vector* labels : {&training, &test})
    *labels = ((labels->array() == first) == first_is_all).cast<double>();
}

LeukemiaData checked(Samples training, Samples test, const std::filesystem::path& source) {
  if (training.x.cols() != test.x.cols())
    throw DataError(
        fmt::format("the leukemia files in {} have {} training and {} test columns: they must agree",
                    source.parent_path().string(), training.x.cols() - 1, test.x.cols() - 1));
  if (!training.x.allFinite() || !test.x.allFinite())
    throw DataError(
        fmt::format("the leukemia files in {} have missing cells", source.parent_path().string()));
  return {std::move(training.x), std::move(test.x), std::move(training.y), std::move(test.y),
          source.filename().string()};
}

}  // namespace

LeukemiaData standardised_by_training(LeukemiaData data) {
  const auto n = static_cast<double>(data.training_x.rows());
  for (Index j = 1; j < data.training_x.cols(); ++j) {
    const double mean = data.training_x.col(j).mean();
    const double sd = std::sqrt((data.training_x.col(j).array() - mean).square().sum() / (n - 1));
    const double scale = sd > 0 ? 1 / sd : 0;  // a probe that is constant in training says nothing
    for (RowMatrix* x : {&data.training_x, &data.test_x}) x->col(j) = (x->col(j).array() - mean) * scale;
  }
  return data;
}

LeukemiaData read_leukemia(const std::filesystem::path& folder) {
  const auto csv = find_data(folder, "leukemia_train_std.csv"),
             csv_test = find_data(folder, "leukemia_test_std.csv");
  if (csv && csv_test) return checked(from_csv(*csv), from_csv(*csv_test), *csv);
  const auto libsvm = find_data(folder, "leu"), libsvm_test = find_data(folder, "leu.t");
  if (libsvm && libsvm_test) {
    Samples training = from_libsvm(*libsvm, 0);
    Samples test = from_libsvm(*libsvm_test, training.x.cols() - 1);
    label_all_as_one(training.y, test.y);
    return checked(std::move(training), std::move(test), *libsvm);
  }
  throw MissingData(
      "leukemia: the data are not here; put LIBSVM's files 'leu' and 'leu.t', unpacked, into a folder and "
      "name it with "
      "--data or MAGVA_DATA (the README says where to get them)");
}

}  // namespace magva::experiments
