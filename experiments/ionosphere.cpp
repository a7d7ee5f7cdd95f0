#include "experiments/ionosphere.hpp"

#include <fmt/format.h>

#include "experiments/data_files.hpp"
#include "experiments/folds.hpp"
#include "experiments/slang.hpp"
#include "magva/error.hpp"
#include "magva/table.hpp"
#include "table/read_table.hpp"

namespace magva::experiments {

namespace {

constexpr int kFolds = 5;

table::DesignOptions expansion() {
  table::DesignOptions options;
  options.response = std::string("Class");
  options.positive_class = std::string("g");
  options.discretise = table::Discretise::mdlp;
  return options;
}

RowMatrix rows(const RowMatrix& x, const std::vector<Index>& which) { return x(which, Eigen::all); }
Vector rows(const Vector& y, const std::vector<Index>& which) { return y(which); }

Regression make_model(const RowMatrix& x, const Vector& y, double variance) {
  return logistic_regression({.design = Design::own(RowMatrix(x)), .response = y, .weights = {}, .names = {}},
                             NormalPriorOptions{.variance = variance});
}

FoldDesign learnt_on_all(const table::EncodedRows& all, const FoldRows& split) {
  return {rows(all.x, split.training), rows(all.x, split.test), rows(all.y, split.training),
          rows(all.y, split.test)};
}

FoldDesign learnt_on_training(const table::Table& table, const FoldRows& split) {
  const auto learnt = table::learn_design(subset(table, split.training), expansion());
  const auto test = table::encode(learnt.spec, subset(table, split.test));
  return {learnt.design.x, test.x, learnt.design.y, test.y};
}

// For a Gaussian posterior P(y = 1 | x) > 1/2 exactly where the mean of x'beta is positive.
Index errors(const RowMatrix& x, const Vector& y, const Vector& mean) {
  return (((x * mean).array() > 0) != (y.array() > .5)).count();
}

Vector slang_mean(const FoldDesign& fold, const SlangOptions& options, const StopFlag& stop) {
  Slang fit(fold.training_x, fold.training_y, options);
  while (fit.iteration() < options.iterations) {
    fit.step();
    if (fit.iteration() % 100 == 0 && stop()) throw Interrupted();
  }
  return fit.posterior().mean();
}

}  // namespace

const char* id(Cuts cuts) { return cuts == Cuts::allRows ? "all-rows" : "training-rows"; }

Ionosphere::Ionosphere(const IonosphereSettings& settings, table::Table table, std::vector<int> folds)
    : settings_(settings),
      data_digest_(table.sha256),
      folds_given_(!folds.empty()),
      folds_(std::move(folds)),
      whole_([&] {
        const auto learnt = table::learn_design(table, expansion());
        return make_model(learnt.design.x, learnt.design.y, settings.prior_variance);
      }()) {
  const auto all = table::learn_design(table, expansion()).design;
  if (folds_.empty()) folds_ = stratified_folds(all.y, kFolds, settings.seed);
  for (int fold = 0; fold < fold_count(folds_); ++fold) {
    const FoldRows split = rows_of(folds_, fold);
    all_rows_.push_back(learnt_on_all(all, split));
    training_rows_.push_back(learnt_on_training(table, split));
  }
}

Json Ionosphere::settings() const {
  return {{"experiment", name()},
          {"rank", settings_.rank},
          {"iterations", settings_.iterations},
          {"seed", settings_.seed},
          {"prior_variance", settings_.prior_variance},
          {"factor_scale", settings_.start.factor_scale},
          {"residual_scale", settings_.start.residual_scale},
          {"window", settings_.window},
          {"data", data_digest_},
          {"folds", folds_}};
}

std::vector<Method> Ionosphere::table_methods() {
  std::vector<Method> methods{mean_field(), vafc(), slang()};
  for (const FamilyKind manifold : {FamilyKind::kStiefel, FamilyKind::kGrassmann})
    for (Method& method : rules_on(manifold)) methods.push_back(std::move(method));
  methods.push_back(literal_stiefel_adadelta());
  return methods;
}

std::vector<Method> Ionosphere::curve_methods() {
  std::vector<Method> methods = table_methods();
  std::erase_if(methods, [](const Method& method) { return method.optimiser == Optimiser::slang; });
  return methods;
}

std::string Ionosphere::fold_key(const Method& method, Cuts cuts, std::size_t fold) {
  return fmt::format("fold/{}/{}/{}", id(cuts), method.id, fold + 1);
}

std::string Ionosphere::curve_key(const Method& method, Index repetition) {
  return fmt::format("curve/{}/{}", method.id, repetition + 1);
}

std::vector<Index> Ionosphere::fold_columns() const {
  std::vector<Index> out;
  for (const FoldDesign& fold : training_rows_) out.push_back(fold.training_x.cols() - 1);
  return out;
}

std::vector<Run> Ionosphere::runs() const {
  std::vector<Run> all;
  for (const Method& method : table_methods())
    for (const Cuts cuts : {Cuts::allRows, Cuts::trainingRows})
      for (std::size_t fold = 0; fold < folds(); ++fold) {
        const FoldDesign& design = (cuts == Cuts::allRows ? all_rows_ : training_rows_)[fold];
        all.push_back({fold_key(method, cuts, fold), [this, method, &design](const StopFlag& stop) {
                         return run_fold(method, design, stop);
                       }});
      }
  for (const Method& method : curve_methods())
    for (Index r = 0; r < settings_.repetitions; ++r)
      all.push_back({curve_key(method, r),
                     [this, method, r](const StopFlag& stop) { return run_curve(method, r, stop); }});
  return all;
}

Json Ionosphere::run_fold(const Method& method, const FoldDesign& fold, const StopFlag& stop) const {
  const double started = thread_seconds();
  Vector mean;
  Json out = Json::object();
  if (method.optimiser == Optimiser::slang) {
    SlangOptions options;
    options.rank = settings_.rank;
    options.prior_variance = settings_.prior_variance;
    options.iterations = settings_.iterations;
    options.seed = settings_.seed;
    mean = slang_mean(fold, options, stop);
  } else {
    const Regression model = make_model(fold.training_x, fold.training_y, settings_.prior_variance);
    Fitter fitter(model,
                  fit_options(method, settings_.rank, settings_.start, settings_.iterations, settings_.seed),
                  Whitening::none(model.dimension()), Vector::Zero(model.dimension()));
    const EngineRun run = run_engine(fitter, settings_.window, stop);
    mean = run.result.posterior.mean();
    out["stopped"] = to_string(run.result.stopped);
  }
  out["seconds"] = thread_seconds() - started;
  out["training"] = {errors(fold.training_x, fold.training_y, mean), fold.training_y.size()};
  out["test"] = {errors(fold.test_x, fold.test_y, mean), fold.test_y.size()};
  return out;
}

Json Ionosphere::run_curve(const Method& method, Index repetition, const StopFlag& stop) const {
  const auto seed = settings_.seed * 1000 + static_cast<std::uint64_t>(repetition);
  Fitter fitter(whole_, fit_options(method, settings_.rank, settings_.start, settings_.iterations, seed),
                Whitening::none(whole_.dimension()), Vector::Zero(whole_.dimension()));
  const EngineRun run = run_engine(fitter, settings_.window, stop);
  const Score end = score(whole_, run.result.posterior, settings_.scoring_draws, seed);
  return {{"elbo", end.elbo},
          {"seconds", run.seconds},
          {"stopped", to_string(run.result.stopped)},
          {"factor_share", factor_share(run.result.posterior)},
          {"curve", run.curve.elbo}};
}

std::unique_ptr<Experiment> make_ionosphere(const ReproduceOptions& options) {
  const auto file = find_data(options.data, "ionosphere.csv");
  if (!file)
    throw MissingData(
        "ionosphere.csv was not found beside the program: name its folder with --data or MAGVA_DATA");
  table::ReadOptions reading;
  reading.digest = true;
  table::Table table = table::read_table(file->string(), reading);
  IonosphereSettings settings;
  settings.iterations = options.iterations.value_or(settings.iterations);
  settings.repetitions = options.repetitions.value_or(settings.repetitions);
  settings.seed = options.seed;
  std::vector<int> folds;
  if (!options.folds.empty()) folds = read_folds(options.folds, table.rows);
  return std::make_unique<Ionosphere>(settings, std::move(table), std::move(folds));
}

}  // namespace magva::experiments
