#include "experiments/paper_figures.hpp"

#include <map>

namespace magva::experiments {

namespace {

using Figures = std::map<std::string, PaperErrors>;

std::optional<PaperErrors> look_up(const Figures& figures, const std::string& method) {
  const auto found = figures.find(method);
  return found == figures.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

std::optional<PaperErrors> paper_ionosphere(const std::string& method) {
  static const Figures figures{
      {"mean-field", {.64, 7.65, 12.51}},         {"vafc", {.36, 8.22, 23.04}},
      {"slang", {7.55, 14.20, 190.93}},           {"stiefel-basic", {.36, 7.65, 25.02}},
      {"stiefel-momentum", {.43, 7.65, 24.71}},   {"stiefel-rmsprop", {.43, 7.09, 25.29}},
      {"stiefel-adadelta", {.43, 7.37, 27.27}},   {"grassmann-basic", {1.00, 7.38, 24.78}},
      {"grassmann-momentum", {.71, 7.38, 24.75}}, {"grassmann-rmsprop", {.71, 7.09, 24.43}},
      {"grassmann-adadelta", {.64, 7.09, 25.59}}};
  return look_up(figures, method);
}

std::optional<PaperErrors> paper_leukemia(const std::string& method) {
  static const Figures figures{
      {"mean-field", {0, 7, 64.08}},          {"vafc", {0, 3, 8021.71}},
      {"stiefel-basic", {0, 2, 10013.90}},    {"stiefel-momentum", {0, 2, 10031.65}},
      {"stiefel-rmsprop", {0, 2, 10011.27}},  {"stiefel-adadelta", {0, 2, 10005.28}},
      {"grassmann-basic", {0, 2, 6482.94}},   {"grassmann-momentum", {0, 2, 6438.22}},
      {"grassmann-rmsprop", {0, 3, 6590.98}}, {"grassmann-adadelta", {0, 2, 6202.85}}};
  return look_up(figures, method);
}

}  // namespace magva::experiments
