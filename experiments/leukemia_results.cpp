#include "experiments/leukemia_results.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace magva::experiments {

const Json& LeukemiaResults::run(const LeukemiaVariant& variant, const Method& method,
                                 Index repetition) const {
  return journal_.at(Leukemia::key(variant, method, repetition));
}

LeukemiaOutcome LeukemiaResults::outcome(const LeukemiaVariant& variant, const Method& method,
                                         std::int64_t iteration) const {
  LeukemiaOutcome out{};
  std::vector<double> elbo, log_tau, seconds;
  for (Index r = 0; r < settings().repetitions; ++r)
    for (const Json& at : run(variant, method, r).at("at")) {
      if (at.at("iteration").get<std::int64_t>() != iteration) continue;
      const auto test = at.at("test").get<std::vector<Index>>();
      out.training.push_back(static_cast<double>(at.at("training").size()));
      out.test.push_back(static_cast<double>(test.size()));
      out.aml_called_all.push_back(static_cast<double>(std::count_if(
          test.begin(), test.end(), [&](Index i) { return experiment_.data().test_y(i - 1) < .5; })));
      out.wrong_test_samples.push_back(test);
      elbo.push_back(number(at.at("elbo")));
      log_tau.push_back(number(at.at("log_tau")));
      seconds.push_back(number(at.at("seconds")));
    }
  out.elbo = mean_sd(elbo);
  out.log_tau = mean_sd(log_tau);
  out.seconds = mean_sd(seconds);
  return out;
}

std::vector<Index> LeukemiaResults::wrong_for_all(const LeukemiaVariant& variant,
                                                  const std::vector<Method>& methods,
                                                  std::int64_t iteration) const {
  std::vector<Index> common;
  for (Index i = 1; i <= experiment_.data().test_y.size(); ++i) common.push_back(i);
  for (const Method& method : methods)
    for (const auto& wrong : outcome(variant, method, iteration).wrong_test_samples)
      std::erase_if(common, [&](Index i) { return std::find(wrong.begin(), wrong.end(), i) == wrong.end(); });
  return common;
}

std::vector<std::vector<double>> LeukemiaResults::curves(const LeukemiaVariant& variant,
                                                         const Method& method) const {
  std::vector<std::vector<double>> out;
  for (Index r = 0; r < settings().repetitions; ++r)
    out.push_back(numbers(run(variant, method, r).at("curve")));
  return out;
}

double LeukemiaResults::microseconds(const Method& method) const {
  std::vector<double> out;
  for (Index r = 0; r < settings().repetitions; ++r)
    out.push_back(1e6 * number(run(Leukemia::variants().front(), method, r).at("seconds_per_iteration")));
  return median(out);
}

const Json& LeukemiaResults::default_run(Standardisation standardisation) const {
  return journal_.at(Leukemia::default_key(standardisation));
}

std::string LeukemiaResults::name_samples(const std::vector<Index>& test_samples) const {
  if (test_samples.empty()) return "none";
  std::string out;
  for (const Index i : test_samples)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ",
                       experiment_.data().test_y(i - 1) > .5 ? "ALL" : "AML", i);
  return out;
}

}  // namespace magva::experiments
