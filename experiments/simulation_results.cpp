#include "experiments/simulation_results.hpp"

namespace magva::experiments {

std::vector<const Json*> SimulationResults::runs(WeibullSupport support, const Method& method,
                                                 Index rank) const {
  std::vector<const Json*> out;
  for (Index r = 0; r < settings_.repetitions; ++r)
    out.push_back(&journal_.at(Simulation::key(support, method, rank, r)));
  return out;
}

MeanSd SimulationResults::mean_field_bound(WeibullSupport support, const char* field) const {
  return mean_sd(numbers(runs(support, mean_field(), 0), field));
}

Ends SimulationResults::bound(WeibullSupport support, const Method& method, Index rank,
                              const char* field) const {
  return ends(numbers(runs(support, method, rank), field), mean_field_bound(support, field).mean);
}

std::vector<std::vector<double>> SimulationResults::curves(const Method& method, Index rank) const {
  std::vector<std::vector<double>> out;
  for (const Json* run : runs(WeibullSupport::above_one, method, rank))
    out.push_back(numbers(run->at("curve")));
  return out;
}

double SimulationResults::iterations_to_own_end(const Method& method, Index rank) const {
  return experiments::iterations_to_own_end(curves(method, rank), settings_.window);
}

double SimulationResults::iterations_to_mean_field(const Method& method, Index rank) const {
  return iterations_to_end_of(curves(mean_field(), 0), curves(method, rank), settings_.window);
}

double SimulationResults::mean_oscillation(const Method& method, Index rank) const {
  return experiments::mean_oscillation(curves(method, rank));
}

double SimulationResults::microseconds(const Method& method, Index rank) const {
  return 1e6 * median(numbers(runs(WeibullSupport::above_one, method, rank), "seconds")) /
         static_cast<double>(settings_.iterations);
}

std::vector<double> SimulationResults::robustness(const Method& method, Index rank, const char* what,
                                                  std::size_t scale) const {
  std::vector<double> out;
  for (Index d = 0; d < settings_.data_sets; ++d)
    out.push_back(number(journal_.at(Simulation::robustness_key(method, rank, d)).at(what).at(scale)));
  return out;
}

}  // namespace magva::experiments
