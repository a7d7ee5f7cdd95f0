#include "experiments/ionosphere.hpp"

#include <fmt/format.h>

#include "experiments/data_files.hpp"
#include "experiments/folds.hpp"
#include "experiments/printed_adadelta.hpp"
#include "experiments/slang.hpp"
#include "magva/error.hpp"
#include "magva/table.hpp"

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

Regression make_model(const RowMatrix& x, const Vector& y, double variance) {
  return logistic_regression({.design = Design::own(RowMatrix(x)), .response = y, .weights = {}, .names = {}},
                             NormalPriorOptions{.variance = variance});
}

FoldDesign learnt_on_training(const table::Table& table, FoldRows split) {
  const auto learnt = table::learn_design(subset(table, split.training), expansion());
  const auto test = table::encode(learnt.spec, subset(table, split.test));
  return {learnt.design.x, test.x, learnt.design.y, test.y, std::move(split.test)};
}

// For a Gaussian posterior P(y = 1 | x) > 1/2 exactly where the mean of x'beta is positive.
std::vector<Index> wrong_rows(const RowMatrix& x, const Vector& y, const Vector& mean) {
  const Vector eta = x * mean;
  std::vector<Index> out;
  for (Index i = 0; i < y.size(); ++i)
    if ((eta(i) > 0) != (y(i) > .5)) out.push_back(i);
  return out;
}

double percent(std::size_t wrong, Index rows) {
  return 100 * static_cast<double>(wrong) / static_cast<double>(rows);
}

SlangOptions slang_options(const Method& method, const IonosphereSettings& settings) {
  SlangOptions options;
  options.rank = settings.rank;
  options.prior_variance = settings.prior_variance;
  options.iterations = settings.iterations;
  options.seed = settings.seed;
  if (method.id == slang_with_constant_steps().id) {
    options.decay = 0;
    options.mean_step = .02;
    options.precision_step = .05;
  }
  return options;
}

Vector slang_mean(const FoldDesign& fold, const SlangOptions& options, const StopFlag& stop) {
  Slang fit(fold.training_x, fold.training_y, options);
  while (fit.iteration() < options.iterations) {
    fit.step();
    if (fit.iteration() % 100 == 0 && stop()) throw Interrupted();
  }
  return fit.posterior().mean();
}

/// The length of the shortest column over that of the longest: 0 if B has lost a rank.
double weakest_factor(const Gaussian& posterior) {
  if (posterior.rank() == 0) return 0;
  const auto lengths = posterior.factors().colwise().norm();
  return lengths.minCoeff() / lengths.maxCoeff();
}

}  // namespace

const char* id(Cuts cuts) { return cuts == Cuts::all_rows ? "all-rows" : "training-rows"; }

Ionosphere::Ionosphere(const IonosphereSettings& settings, table::Table table, std::vector<int> given_folds)
    : settings_(settings), data_digest_(table.sha256), folds_given_(!given_folds.empty()), whole_([&] {
        auto all = table::learn_design(table, expansion()).design;
        x_ = std::move(all.x);
        y_ = std::move(all.y);
        return make_model(x_, y_, settings.prior_variance);
      }()) {
  if (folds_given_) splits_.push_back({"given", std::move(given_folds)});
  for (Index s = 0; s < settings.splits; ++s)
    splits_.push_back({fmt::format("{}", s + 1),
                       stratified_folds(y_, kFolds, settings.seed, static_cast<std::uint32_t>(s))});
  const std::vector<int>& first = splits_.front().folds;
  for (int fold = 0; fold < fold_count(first); ++fold)
    training_rows_.push_back(learnt_on_training(table, rows_of(first, fold)));
}

Json Ionosphere::settings() const {
  Json folds = folds_given_ ? Json(splits_.front().folds) : Json("generated");
  return {{"experiment", name()},
          {"rank", settings_.rank},
          {"iterations", settings_.iterations},
          {"seed", settings_.seed},
          {"prior_variance", settings_.prior_variance},
          {"factor_scale", settings_.start.factor_scale},
          {"residual_scale", settings_.start.residual_scale},
          {"window", settings_.window},
          {"data", data_digest_},
          {"folds", std::move(folds)}};
}

std::vector<Method> Ionosphere::error_methods() {
  std::vector<Method> methods = table_methods();
  methods.insert(methods.begin() + 2, slang());
  return methods;
}

std::vector<Method> Ionosphere::further_error_methods() {
  return {printed_stiefel_adadelta(), vafc_with_entropy(), slang_with_constant_steps()};
}

std::vector<Method> Ionosphere::curve_methods() {
  std::vector<Method> methods = table_methods();
  methods.push_back(printed_stiefel_adadelta());
  methods.push_back(vafc_with_entropy());
  for (const Method& method : manifold_methods()) methods.push_back(with_plain_sgd(method));
  return methods;
}

std::string Ionosphere::error_key(const Method& method, Cuts cuts, const Split& split) {
  return fmt::format("errors/{}/{}/{}", id(cuts), method.id, split.name);
}

std::string Ionosphere::curve_key(const Method& method, Index repetition) {
  return fmt::format("curve/{}/{}", method.id, repetition + 1);
}

std::string Ionosphere::printed_key(Index repetition) { return fmt::format("printed/{}", repetition + 1); }

std::vector<Index> Ionosphere::fold_columns() const {
  std::vector<Index> out;
  for (const FoldDesign& fold : training_rows_) out.push_back(fold.training_x.cols() - 1);
  return out;
}

std::vector<Run> Ionosphere::runs() const {
  constexpr double kSlangCost = 30;  // of one of its iterations, in gradients
  std::vector<Run> all;
  const auto iterations = static_cast<double>(settings_.iterations);
  const auto errors = [&](const Method& method, Cuts cuts, const Split& split) {
    const double each = method.optimiser == Optimiser::slang ? kSlangCost : 1;
    all.push_back(
        {error_key(method, cuts, split),
         [this, method, cuts, &split](const StopFlag& stop) { return run_errors(method, cuts, split, stop); },
         kFolds * each * iterations});
  };
  for (const Method& method : error_methods()) {
    for (const Split& split : splits_) errors(method, Cuts::all_rows, split);
    errors(method, Cuts::training_rows, splits_.front());
  }
  for (const Method& method : further_error_methods())
    for (const Cuts cuts : {Cuts::all_rows, Cuts::training_rows}) errors(method, cuts, splits_.front());
  for (const Method& method : curve_methods())
    for (Index r = 0; r < settings_.repetitions; ++r)
      all.push_back({curve_key(method, r),
                     [this, method, r](const StopFlag& stop) { return run_curve(method, r, stop); },
                     iterations + static_cast<double>(settings_.scoring_draws)});
  for (Index r = 0; r < settings_.repetitions; ++r)
    all.push_back({printed_key(r), [this, r](const StopFlag&) { return run_printed(r); }, 3 * iterations});
  all.push_back({default_key(), [this](const StopFlag& stop) { return run_default(stop); }, 50'000});
  return all;
}

double Ionosphere::seconds_per_evaluation() const {
  return experiments::seconds_per_evaluation(
      whole_,
      fit_options(rules_on(FamilyKind::kStiefel)[2], settings_.rank, settings_.start, 1, settings_.seed));
}

FoldDesign Ionosphere::all_rows_design(const Split& split, int fold) const {
  FoldRows rows = rows_of(split.folds, fold);
  return {x_(rows.training, Eigen::all), x_(rows.test, Eigen::all), y_(rows.training), y_(rows.test),
          std::move(rows.test)};
}

Vector Ionosphere::posterior_mean(const Method& method, const FoldDesign& fold, const StopFlag& stop) const {
  if (method.optimiser == Optimiser::slang) return slang_mean(fold, slang_options(method, settings_), stop);
  const Regression model = make_model(fold.training_x, fold.training_y, settings_.prior_variance);
  Fitter fitter(model,
                fit_options(method, settings_.rank, settings_.start, settings_.iterations, settings_.seed),
                Whitening::none(model.dimension()), Vector::Zero(model.dimension()));
  return run_engine(fitter, settings_.window, stop).posterior().mean();
}

Json Ionosphere::run_errors(const Method& method, Cuts cuts, const Split& split, const StopFlag& stop) const {
  const int folds = fold_count(split.folds);
  double training = 0, test = 0, seconds = 0;
  std::vector<Index> wrong;
  for (int f = 0; f < folds; ++f) {
    const FoldDesign fold =
        cuts == Cuts::all_rows ? all_rows_design(split, f) : training_rows_[static_cast<std::size_t>(f)];
    const double started = thread_seconds();
    const Vector mean = posterior_mean(method, fold, stop);
    seconds += thread_seconds() - started;
    const auto wrong_here = wrong_rows(fold.test_x, fold.test_y, mean);
    for (const Index i : wrong_here) wrong.push_back(fold.test_rows[static_cast<std::size_t>(i)] + 1);
    training +=
        percent(wrong_rows(fold.training_x, fold.training_y, mean).size(), fold.training_y.size()) / folds;
    test += percent(wrong_here.size(), fold.test_y.size()) / folds;
  }
  return {
      {"training_percent", training}, {"test_percent", test}, {"seconds", seconds}, {"wrong_rows", wrong}};
}

Json Ionosphere::run_curve(const Method& method, Index repetition, const StopFlag& stop) const {
  const auto seed = settings_.seed * 1000 + static_cast<std::uint64_t>(repetition);
  Fitter fitter(whole_, fit_options(method, settings_.rank, settings_.start, settings_.iterations, seed),
                Whitening::none(whole_.dimension()), Vector::Zero(whole_.dimension()));
  std::vector<std::int64_t> checkpoints;
  if (method.family == FamilyKind::kVafc)
    for (std::int64_t at = settings_.window; at < settings_.iterations; at += settings_.window)
      checkpoints.push_back(at);
  const EngineRun run = run_engine(fitter, settings_.window, stop, checkpoints);
  double weakest = weakest_factor(run.posterior());
  for (const Snapshot& at : run.snapshots) weakest = std::min(weakest, weakest_factor(at.posterior));
  return {{"elbo", score(whole_, run.posterior(), settings_.scoring_draws, seed).elbo},
          {"seconds", run.seconds},
          {"stopped", to_string(run.stopped)},
          {"rejected_draws", run.rejected_draws},
          {"factor_share", factor_share(run.posterior())},
          {"weakest_factor", weakest},
          {"curve", run.curve.elbo}};
}

Json Ionosphere::run_default(const StopFlag& stop) const {
  const DefaultFit fit = default_fit(whole_, settings_.rank, settings_.seed, 0, stop);
  return {{"elbo", fit.elbo}, {"seconds", fit.seconds}};
}

Json Ionosphere::run_printed(Index repetition) const {
  const auto seed = settings_.seed * 1000 + static_cast<std::uint64_t>(repetition);
  const PrintedAdadelta run =
      follow_printed_adadelta(whole_, settings_.rank, settings_.start, settings_.iterations, seed);
  return {{"first_not_finite", run.first_not_finite},
          {"largest_step", run.largest_step},
          {"negative_share", run.negative_share}};
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
  if (options.thorough) {
    settings.repetitions = 100;
    settings.splits = 100;
  }
  settings.iterations = options.iterations.value_or(settings.iterations);
  if (options.repetitions) settings.repetitions = settings.splits = *options.repetitions;
  settings.seed = options.seed;
  std::vector<int> folds;
  if (!options.folds.empty()) folds = read_folds(options.folds, table.rows);
  return std::make_unique<Ionosphere>(settings, std::move(table), std::move(folds));
}

}  // namespace magva::experiments
