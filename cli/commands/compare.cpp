#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "commands/commands.hpp"
#include "exit_codes.hpp"
#include "magva/error.hpp"
#include "magva/fit_folder.hpp"
#include "magva/stored_check.hpp"
#include "options/option_spec.hpp"
#include "options/values.hpp"
#include "results/text.hpp"

namespace magva::commands {

namespace {

using results::StoredFit;

/// How the parameters differ, in a sentence; empty if they are the same.
std::string parameter_difference(const StoredFit& a, const StoredFit& b) {
  if (a.posterior.dimension() != b.posterior.dimension())
    return fmt::format("the two fits have {} and {} parameters", a.posterior.dimension(),
                       b.posterior.dimension());
  for (std::size_t i = 0; i < std::min(a.names.size(), b.names.size()); ++i)
    if (a.names[i] != b.names[i])
      return fmt::format("the two fits have different parameters, '{}' and '{}'", a.names[i], b.names[i]);
  return {};
}

/// Models of the same rows, by what they would predict of new ones.
void print_ranking(const std::vector<results::RankedModel>& ranked) {
  std::size_t width = 5;
  for (const auto& model : ranked) width = std::max(width, model.name.size());
  fmt::print("{:<{}} {:>11} {:>8} {:>12} {:>8} {:>8}\n", "model", width, "elpd_loo", "se", "difference", "se",
             "p_loo");
  for (const auto& model : ranked)
    fmt::print("{:<{}} {:>11.1f} {:>8.1f} {:>12.1f} {:>8.1f} {:>8.1f}{}\n", model.name, width, model.elpd,
               model.elpd_se, model.difference, model.difference_se, model.p_loo,
               model.high_k > 0 ? fmt::format("  ({} rows with high Pareto k)", model.high_k) : "");
  const results::RankedModel& second = ranked.at(1);
  const double ratio = second.difference_se > 0 ? -second.difference / second.difference_se : 0;
  fmt::print("{}\n\n", ratio > 4   ? "The first predicts new rows clearly better."
                       : ratio > 2 ? "The first probably predicts new rows better."
                                   : "The data do not tell which predicts new rows better.");
}

/// A coefficient of a standardised column is per sd of that column.
void check_same_scale(const StoredFit& a, const StoredFit& b) {
  const auto standardised = [](const StoredFit& fit) {
    return fit.record.options.value("standardise", false);
  };
  if (standardised(a) != standardised(b))
    throw DataError(fmt::format(
        "the columns of '{}' are standardised and those of '{}' are not, so that coefficients of "
        "the same name have different units: fit both with --standardise, or both without",
        (standardised(a) ? a : b).folder.path().string(), (standardised(a) ? b : a).folder.path().string()));
}

void print_elbo(const StoredFit& a, const StoredFit& b) {
  if (a.record.data.sha256 != b.record.data.sha256)
    fmt::print("the fits are of different data: their ELBOs cannot be compared\n");
  if (!a.record.elbo || !b.record.elbo) {
    fmt::print("ELBO difference      - (one of them is not finite)\n");
    return;
  }
  const double error = std::hypot(a.record.elbo_se.value_or(0), b.record.elbo_se.value_or(0));
  fmt::print("ELBO                 {:.3f} and {:.3f}\n", *a.record.elbo, *b.record.elbo);
  fmt::print("ELBO difference      {:.3f} (second minus first, standard error {:.2g})\n",
             *b.record.elbo - *a.record.elbo, error);
}

struct Difference {
  std::string name;
  double mean;  ///< in sds of the first fit
  double sd_ratio;
};

std::vector<Difference> differences(const StoredFit& a, const StoredFit& b) {
  const Vector sd_a = a.posterior.best().sd();
  const Vector sd_b = b.posterior.best().sd();
  std::vector<Difference> all;
  for (Index i = 0; i < a.posterior.dimension(); ++i)
    all.push_back({results::printable(a.names[static_cast<std::size_t>(i)]),
                   (b.posterior.best().mean()(i) - a.posterior.best().mean()(i)) / sd_a(i),
                   sd_b(i) / sd_a(i)});
  return all;
}

template <class Size>
void print_largest(std::vector<Difference> all, std::size_t top, const char* title, Size size) {
  const std::size_t shown = std::min(top, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown), all.end(),
                    [&](const auto& x, const auto& y) { return size(x) > size(y); });
  fmt::print("\n{}\n", title);
  for (std::size_t i = 0; i < shown; ++i)
    fmt::print("  {:<30} mean {:+.3f} sds, sd x {:.3f}\n", all[i].name, all[i].mean, all[i].sd_ratio);
}

void print_angles(const StoredFit& a, const StoredFit& b) {
  if (a.posterior.is_full_rank() || b.posterior.is_full_rank()) {
    fmt::print("\na full-rank fit has no factors: no angles between factor subspaces\n");
    return;
  }
  const Vector angles = subspace_angles(a.posterior, b.posterior);
  if (angles.size() == 0) return;
  fmt::print("\nangles between the factor subspaces, in degrees:");
  for (const double angle : angles) fmt::print(" {:.1f}", angle * 180 / std::numbers::pi);
  fmt::print("\n");
}

/// More than two are ranked, and no more is said about them.
int rank_all(const std::vector<std::string>& folders) {
  std::vector<std::pair<std::string, results::StoredCheck>> models;
  for (const std::string& folder : folders) {
    const auto check = results::load_check(results::load_fit(folder).folder.path() / results::kCheckFile);
    if (!check)
      throw DataError(
          fmt::format("the fit in '{}' has no leave-one-out check, by which several fits are "
                      "compared: leave it out, or compare two",
                      folder));
    models.emplace_back(folder, *check);
  }
  print_ranking(results::rank_models(models));
  return kOk;
}

int run_compare(const options::Values& values) {
  if (values.arguments.size() > 2) return rank_all(values.arguments);
  const StoredFit a = results::load_fit(values.arguments.at(0));
  const StoredFit b = results::load_fit(values.arguments.at(1));
  const auto check_a = results::load_check(a.folder.path() / results::kCheckFile);
  const auto check_b = results::load_check(b.folder.path() / results::kCheckFile);
  if (check_a && check_b)
    print_ranking(results::rank_models({{values.arguments[0], *check_a}, {values.arguments[1], *check_b}}));
  if (const std::string difference = parameter_difference(a, b); !difference.empty()) {
    if (check_a && check_b) return kOk;
    throw DataError(difference + " and cannot be compared: at least one has no leave-one-out check");
  }
  check_same_scale(a, b);
  const auto top = static_cast<std::size_t>(values.integer("top"));
  print_elbo(a, b);
  const char* of = a.posterior.has_shape() || b.posterior.has_shape() ? " (of the fitted Gaussians)" : "";
  fmt::print("KL(first || second)  {:.4g}{}\n", kl_divergence(a.posterior, b.posterior), of);
  fmt::print("KL(second || first)  {:.4g}{}\n", kl_divergence(b.posterior, a.posterior), of);
  const auto all = differences(a, b);
  print_largest(all, top,
                "largest differences of the mean:", [](const Difference& d) { return std::abs(d.mean); });
  print_largest(all, top, "largest differences of the sd:", [](const Difference& d) {
    return std::abs(std::log(d.sd_ratio));
  });
  print_angles(a, b);
  return kOk;
}

}  // namespace

options::Command compare() {
  return {.name = "compare",
          .summary = "compare two or more fits",
          .description =
              "Ranks models of the same rows by leave-one-out cross-validation: the difference of their "
              "expected log "
              "predictive densities with its standard error. Of two with the same parameters, also shows "
              "the difference "
              "of the ELBOs, the Kullback-Leibler divergence both ways, the parameters whose mean or sd "
              "differ most, and "
              "the angles between the factor subspaces.",
          .arguments = {{"FIRST", "the folder of a fit", options::ValueKind::folder},
                        {"SECOND", "the folder of another fit", options::ValueKind::folder},
                        {"MORE", "folders of further fits", options::ValueKind::folder, false, true}},
          .groups = {{"Output",
                      {{.name = "top",
                        .value = "N",
                        .standard = "5",
                        .help = "how many parameters to show",
                        .kind = options::ValueKind::integer,
                        .check = options::integer_between(0, 1'000'000'000)}}}},
          .examples = {{"which model predicts better", "magva compare poisson/ negbinomial/"},
                       {"does the rank matter", "magva compare rank2/ rank8/"}},
          .run = run_compare};
}

}  // namespace magva::commands
