#include "experiments/ionosphere_results.hpp"

namespace magva::experiments {

double IonosphereResults::first_split(const Method& method, Cuts cuts, const char* field) const {
  return number(journal_.at(Ionosphere::error_key(method, cuts, experiment_.splits().front())).at(field));
}

std::vector<double> IonosphereResults::over_splits(const Method& method, const char* field) const {
  std::vector<double> out;
  for (const Split& split : experiment_.splits())
    if (split.name != "given")
      out.push_back(number(journal_.at(Ionosphere::error_key(method, Cuts::all_rows, split)).at(field)));
  return out;
}

std::vector<Index> IonosphereResults::times_wrong(const Method& method) const {
  std::vector<Index> out(static_cast<std::size_t>(experiment_.rows()), 0);
  for (const Split& split : experiment_.splits())
    if (split.name != "given")
      for (const Json& row :
           journal_.at(Ionosphere::error_key(method, Cuts::all_rows, split)).at("wrong_rows"))
        ++out[row.get<std::size_t>() - 1];
  return out;
}

std::vector<const Json*> IonosphereResults::curve_runs(const Method& method) const {
  std::vector<const Json*> out;
  for (Index r = 0; r < settings().repetitions; ++r)
    out.push_back(&journal_.at(Ionosphere::curve_key(method, r)));
  return out;
}

std::vector<std::vector<double>> IonosphereResults::curves(const Method& method) const {
  std::vector<std::vector<double>> out;
  for (const Json* run : curve_runs(method)) out.push_back(numbers(run->at("curve")));
  return out;
}

MeanSd IonosphereResults::mean_field_bound() const {
  return mean_sd(numbers(curve_runs(mean_field()), "elbo"));
}

Ends IonosphereResults::bound(const Method& method) const {
  return ends(numbers(curve_runs(method), "elbo"), mean_field_bound().mean);
}

double IonosphereResults::default_bound() const {
  return number(journal_.at(Ionosphere::default_key()).at("elbo"));
}

std::vector<const Json*> IonosphereResults::printed_runs() const {
  std::vector<const Json*> out;
  for (Index r = 0; r < settings().repetitions; ++r) out.push_back(&journal_.at(Ionosphere::printed_key(r)));
  return out;
}

double IonosphereResults::iterations_to_own_end(const Method& method) const {
  return experiments::iterations_to_own_end(curves(method), settings().window);
}

double IonosphereResults::iterations_to_mean_field(const Method& method) const {
  return iterations_to_end_of(curves(mean_field()), curves(method), settings().window);
}

double IonosphereResults::mean_oscillation(const Method& method) const {
  return experiments::mean_oscillation(curves(method));
}

double IonosphereResults::microseconds(const Method& method) const {
  return 1e6 * median(numbers(curve_runs(method), "seconds")) / static_cast<double>(settings().iterations);
}

}  // namespace magva::experiments
