#include "source/design_options.hpp"

namespace magva::source {

using input::ResponseKind;

input::DesignOptions design_options(const options::Values& values, const std::string& response) {
  input::DesignOptions options;
  options.response = response;
  options.positive_class = values.text("positive");
  options.weights = values.text("weights");
  options.columns = values.list("column");
  options.excluded = values.list("exclude");
  options.standardise = values.flag("standardise");
  options.discretise =
      values.text("discretise") == "mdlp" ? input::Discretise::mdlp : input::Discretise::none;
  options.missing = missing_policy(values);
  return options;
}

input::MissingPolicy missing_policy(const options::Values& values) {
  return values.text("missing") == "drop" ? input::MissingPolicy::drop : input::MissingPolicy::refuse;
}

ResponseKind response_kind(const std::string& model) {
  return model == "logistic"  ? ResponseKind::binary
         : model == "poisson" ? ResponseKind::count
                              : ResponseKind::real;
}

std::string model_for(ResponseKind kind) {
  return kind == ResponseKind::binary ? "logistic" : kind == ResponseKind::count ? "poisson" : "linear";
}

design_file::Element element(const options::Values& values) {
  return values.flag("float32") ? design_file::Element::float32 : design_file::Element::float64;
}

}  // namespace magva::source
