#include "results/sd_record.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "magva/model_source.hpp"
#include "results/parameter_summary.hpp"

namespace magva::results {

namespace {

void add_estimates(const SdEstimates& estimates, const std::vector<std::string>& corrected,
                   const source::Reporter& reporter, FitRecord& record) {
  const auto quantities = reporter.quantities();
  std::int64_t count = 0;
  double largest = 0;
  for (std::size_t k = 0; k < quantities.size(); ++k) {
    const std::optional<Index> coordinate = quantities[k].coordinate;
    if (!coordinate || std::find(corrected.begin(), corrected.end(), quantities[k].name) != corrected.end())
      continue;
    take_estimate(record.parameters[k], estimates.sd(*coordinate), estimates.se(*coordinate), kRecordLevel);
    ++count;
    largest = std::max(largest, estimates.se(*coordinate));
  }
  if (count == 0) return;
  record.details["sd"] = "linear response";
  record.details["sd_estimates"] = {{"parameters", count}, {"draws", estimates.draws}, {"sd_se", largest}};
}

}  // namespace

void add_sd_correction(const SdCorrection& correction, const source::Reporter& reporter, FitRecord& record) {
  if (!correction.parameters.empty()) {
    record.details["sd_for"] = correction.parameters;
    record.details["sd_se"] = correction.se;
  }
  for (const std::string& name : correction.failed)
    record.notes.push_back(fmt::format(
        "the sd of '{}' was asked for and is that of the approximation: linear response has none", name));
  if (correction.estimates) add_estimates(*correction.estimates, correction.parameters, reporter, record);
}

}  // namespace magva::results
