// usage: magva_tasks IONOSPHERE_CSV FOLDER [PREFIX]: only the tasks whose names begin so
// Runs our side of every task, writes FOLDER/magva.json and, as NumPy files, what the peers need.
#include <fmt/format.h>

#include <exception>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "machine.hpp"
#include "tasks.hpp"

namespace magva::bench {
namespace {

/// The tasks whose names begin with `prefix`.
nlohmann::json run(const std::filesystem::path& ionosphere, const std::filesystem::path& folder,
                   std::string_view prefix) {
  nlohmann::json out;
  const auto task = [&](std::string_view name, auto&& measure) {
    if (!name.starts_with(prefix)) return;
    fmt::print(stderr, "{}\n", name);
    out[std::string(name)] = measure();
  };
  const int threads = std::thread::hardware_concurrency() > 1 ? 2 : 1;
  task("memory", [] { return peak_memory(); });
  task("compiler", [] { return compiler(); });
  task("bandwidth_1", [] { return read_bandwidth(); });
  task("peak_flops", [] { return peak_flops(); });
  const TaskProblem iono = ionosphere_problem(ionosphere);
  const TaskProblem leukemia = random_problem("horseshoe", 38, 7130, PriorKind::kHorseshoe, 4, 1);
  const TaskProblem spam = random_problem("spam", 4601, 105, PriorKind::kNormal, 4, 8);
  task("ionosphere", [&] { return step_times(iono, 1, folder); });
  task("horseshoe", [&] { return step_times(leukemia, threads, folder); });
  task("spam", [&] { return step_times(spam, threads, folder); });
  task("step_over_gradient", [&] { return step_over_gradient(iono); });
  task("default", [&] { return default_elbo_over_time(iono, folder); });
  task("exact_ionosphere", [&] { return exact_over_draws(iono); });
  task("exact_tall", [] { return exact_over_draws(logistic_problem("tall", 5000, 100, 2, 4)); });
  task("exact_wide", [] { return exact_over_draws(logistic_problem("wide", 38, 7129, 3, 4)); });
  task("exact_large",
       [&] { return exact_full_rank(logistic_problem("large", 300'000, 50, 1.5, 50), folder); });
  task("streaming_1", [] { return streaming(100'000, 1000, 10, 1); });
  task("streaming_2", [&] { return streaming(100'000, 1000, 10, threads); });
  task("streaming_narrow", [] { return streaming(400'000, 100, 4, 1); });
  task("threads", [] { return threads_scaling(100'000, 100, 8); });
  task("doublings_1", [] { return doublings(RuleKind::kAdadeltaStable, 1); });
  task("doublings_2", [&] { return doublings(RuleKind::kAdadeltaStable, threads); });
  task("guarded_doublings_2", [&] { return doublings(RuleKind::kAdadeltaGuarded, threads); });
  return out;
}

}  // namespace
}  // namespace magva::bench

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    fmt::print(stderr, "usage: magva_tasks IONOSPHERE_CSV FOLDER [PREFIX]\n");
    return 2;
  }
  try {
    const std::filesystem::path folder = argv[2];
    std::filesystem::create_directories(folder);
    const auto results = magva::bench::run(argv[1], folder, argc == 4 ? argv[3] : "");
    std::ofstream(folder / "magva.json") << results.dump(1) << '\n';
    return 0;
  } catch (const std::exception& problem) {
    fmt::print(stderr, "magva_tasks: {}\n", problem.what());
    return 1;
  }
}
