// A regression by a formula as JSON, and in words.
#include "magva/formula_model.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "magva/error.hpp"
#include "magva/priors.hpp"
#include "source/formula_reporter.hpp"

namespace magva::source {

namespace {

using FormulaJson = nlohmann::json;

FormulaJson json_of(const Vector& values) { return std::vector<double>(values.begin(), values.end()); }

Vector vector_of(const FormulaJson& json) {
  const auto values = json.get<std::vector<double>>();
  return Eigen::Map<const Vector>(values.data(), static_cast<Index>(values.size()));
}

const char* kind_name(PositivePrior::Kind kind) {
  switch (kind) {
    case PositivePrior::Kind::gamma:
      return "gamma";
    case PositivePrior::Kind::inverse_gamma:
      return "inverse_gamma";
    case PositivePrior::Kind::half_student_t:
      break;
  }
  return "half_student_t";
}

FormulaJson horseshoes_to_json(const FormulaModel& model) {
  FormulaJson out = FormulaJson::array();
  for (const FormulaModel::Horseshoe& horseshoe : model.horseshoes)
    out.push_back(
        {{"first", horseshoe.first},
         {"count", horseshoe.count},
         {"global_scale", horseshoe.global_scale},
         {"slab_scale", horseshoe.slab_scale ? FormulaJson(*horseshoe.slab_scale) : FormulaJson(nullptr)}});
  return out;
}

FormulaModel::Horseshoe horseshoe_from_json(const FormulaJson& json, Index columns) {
  FormulaModel::Horseshoe out{json.at("first"), json.at("count"), json.at("global_scale"), std::nullopt};
  if (!json.at("slab_scale").is_null()) out.slab_scale = json["slab_scale"].get<double>();
  if (out.first < 0 || out.count < 1 || out.first + out.count > columns)
    throw DataError("the stored model is damaged: a horseshoe prior has columns that there are not");
  return out;
}

/// Draws in single precision, as one text (base 64): a number in decimal digits would take three times the
/// space.
FormulaJson draws_to_json(const JointDraws& draws) {
  const Eigen::MatrixXf values = draws.values.cast<float>();
  const auto bytes = static_cast<std::size_t>(values.size()) * sizeof(float);
  std::string text(4 * ((bytes + 2) / 3) + 1, '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                  reinterpret_cast<const unsigned char*>(values.data()), static_cast<int>(bytes));
  text.pop_back();
  return {{"names", draws.names}, {"count", values.cols()}, {"values", std::move(text)}};
}

std::shared_ptr<const JointDraws> draws_from_json(const FormulaJson& json) {
  auto draws = std::make_shared<JointDraws>();
  draws->names = json.at("names").get<std::vector<std::string>>();
  const auto count = json.at("count").get<Index>();
  const auto& text = json.at("values").get_ref<const std::string&>();
  const auto rows = static_cast<Index>(draws->names.size());
  const auto bytes = rows * count * static_cast<Index>(sizeof(float));
  if (count < 1 || rows < 1 || static_cast<Index>(text.size()) != 4 * ((bytes + 2) / 3))
    throw DataError("the stored model is damaged: its draws are not whole");
  std::vector<unsigned char> decoded(text.size() / 4 * 3);
  if (EVP_DecodeBlock(decoded.data(), reinterpret_cast<const unsigned char*>(text.data()),
                      static_cast<int>(text.size())) < 0)
    throw DataError("the stored model is damaged: its draws cannot be read");
  Eigen::MatrixXf values(rows, count);
  std::memcpy(values.data(), decoded.data(), static_cast<std::size_t>(bytes));
  draws->values = values.cast<double>();
  return draws;
}

PositivePrior positive_prior(const FormulaJson& json) {
  const auto kind = json.at("kind").get<std::string>();
  const double shape = json.at("shape"), scale = json.at("scale");
  if (kind == "gamma") return PositivePrior::gamma(shape, scale);
  if (kind == "inverse_gamma") return PositivePrior::inverse_gamma(shape, scale);
  if (kind == "half_student_t") return PositivePrior::half_student_t(shape, scale);
  throw DataError("the stored model is damaged: a prior has an unknown kind");
}

}  // namespace

void FormulaOptions::validate() const {
  if (formula.empty()) throw UsageError("formula: there is none");
  if (prior_variance && !(*prior_variance > 0)) throw UsageError("prior_variance: must be positive");
  if (prior_variance && !priors.empty())
    throw UsageError("prior_variance: the prior N(0, V) of all coefficients leaves no room for others");
  if (batch && *batch < 1) throw UsageError("batch: must be at least 1");
  if (family && link) check_link(*family, *link);
}

std::shared_ptr<const ResponseFamily> FormulaModel::response_family() const {
  if (family == Distribution::ordered)
    return make_ordered_family(static_cast<Index>(design.response.classes.size()));
  return make_response_family(family, link, own);
}

BlockPrior block_of(const FormulaModel::Horseshoe& horseshoe) {
  HorseshoeBlock block;
  block.global_scale = horseshoe.global_scale;
  block.slab_scale = horseshoe.slab_scale;
  return block;
}

namespace {

/// A block for each run of columns that no horseshoe or smooth term has taken.
void add_independent_blocks(const IndependentPriors& priors, const std::vector<bool>& taken,
                            std::vector<PriorBlock>& blocks) {
  for (Index j = 0; j < priors.size(); ++j) {
    if (taken[static_cast<std::size_t>(j)]) continue;
    const Vector location = priors.location.segment(j, 1), scale = priors.scale.segment(j, 1);
    if (std::isinf(priors.degrees(j)))
      blocks.push_back({j, 1, NormalBlock{location, scale}});
    else
      blocks.push_back({j, 1, StudentTBlock{Vector::Constant(1, priors.degrees(j)), location, scale}});
  }
}

}  // namespace

std::shared_ptr<const CoefficientPrior> FormulaModel::coefficient_prior() const {
  std::vector<PriorBlock> blocks;
  std::vector<bool> taken(static_cast<std::size_t>(priors.size()), false);
  const auto take = [&](Index first, Index count, BlockPrior prior) {
    blocks.push_back({first, count, std::move(prior)});
    std::fill_n(taken.begin() + first, count, true);
  };
  for (const Horseshoe& horseshoe : horseshoes) take(horseshoe.first, horseshoe.count, block_of(horseshoe));
  Index at = priors.size() - design.smooth_columns();
  for (std::size_t k = 0; k < design.smooths.size(); ++k) {
    const formula::SmoothSpec& smooth = design.smooths[k];
    take(at + 1, smooth.columns() - 1,
         HierarchicalBlock{smooth.name, PositivePrior::half_student_t(3, smooth_scales[k])});
    at += smooth.columns();
  }
  add_independent_blocks(priors, taken, blocks);
  return make_prior(blocks, priors.size());
}

std::string FormulaModel::description() const {
  const bool usual = link == default_link(family);
  return fmt::format("{} regression{}: {}", to_string(family),
                     usual ? "" : fmt::format(" ({} link)", to_string(link)), design.formula);
}

nlohmann::json to_json(const FormulaModel& model) {
  FormulaJson own = FormulaJson::array();
  for (const OwnParameter& parameter : model.own)
    own.push_back({{"name", parameter.name},
                   {"kind", kind_name(parameter.prior.kind())},
                   {"shape", parameter.prior.shape()},
                   {"scale", parameter.prior.scale()}});
  FormulaJson sd_scales = FormulaJson::array();
  for (const Vector& scales : model.sd_scales) sd_scales.push_back(json_of(scales));
  FormulaJson degrees = FormulaJson::array();  // JSON has no infinity: null stands for a normal prior
  for (Index j = 0; j < model.priors.size(); ++j)
    degrees.push_back(std::isinf(model.priors.degrees(j)) ? FormulaJson(nullptr)
                                                          : FormulaJson(model.priors.degrees(j)));
  FormulaJson json = {{"formula", formula::to_json(model.design)},
                      {"family", to_string(model.family)},
                      {"link", to_string(model.link)},
                      {"priors",
                       {{"location", json_of(model.priors.location)},
                        {"scale", json_of(model.priors.scale)},
                        {"degrees_of_freedom", degrees}}},
                      {"own", own},
                      {"sd_scales", sd_scales},
                      {"smooth_scales", model.smooth_scales},
                      {"horseshoes", horseshoes_to_json(model)},
                      {"lkj", model.lkj}};
  if (model.draws) json["draws"] = draws_to_json(*model.draws);
  return json;
}

FormulaModel formula_model_from_json(const nlohmann::json& json) {
  FormulaModel model;
  model.design = formula::formula_spec_from_json(json.at("formula"));
  model.family = parse_distribution(json.at("family").get<std::string>());
  model.link = parse_link(json.at("link").get<std::string>());
  const FormulaJson& priors = json.at("priors");
  model.priors = {vector_of(priors.at("location")), vector_of(priors.at("scale")), Vector()};
  const FormulaJson& degrees = priors.at("degrees_of_freedom");
  model.priors.degrees_of_freedom.resize(static_cast<Index>(degrees.size()));
  for (Index j = 0; j < model.priors.degrees_of_freedom.size(); ++j) {
    const FormulaJson& value = degrees[static_cast<std::size_t>(j)];
    model.priors.degrees_of_freedom(j) =
        value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>();
  }
  for (const FormulaJson& parameter : json.at("own"))
    model.own.push_back({parameter.at("name").get<std::string>(), positive_prior(parameter)});
  for (const FormulaJson& scales : json.at("sd_scales")) model.sd_scales.push_back(vector_of(scales));
  model.lkj = json.at("lkj");
  model.smooth_scales = json.at("smooth_scales").get<std::vector<double>>();
  for (const FormulaJson& horseshoe : json.at("horseshoes"))
    model.horseshoes.push_back(horseshoe_from_json(horseshoe, model.priors.size()));
  if (json.contains("draws")) model.draws = draws_from_json(json["draws"]);
  const Index columns = model.design.centre.size();
  if (model.priors.location.size() != columns || model.priors.scale.size() != columns ||
      model.priors.degrees_of_freedom.size() != columns ||
      model.sd_scales.size() != model.design.groups.size() ||
      model.smooth_scales.size() != model.design.smooths.size())
    throw DataError("the stored model is damaged: its priors do not fit its coefficients");
  return model;
}

}  // namespace magva::source
