#pragma once
// Where a posterior comes from: a table with a regression model, or a Stan program with its data. The
// commands see only this.
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "magva/model.hpp"
#include "options/values.hpp"

namespace magva {
class Minibatch;
}

namespace magva::source {

/// What fit.json says about the data.
struct DataRecord {
  std::string file;
  Index rows = 0;
  Index columns = 0;
  std::string sha256;
};

/// A quantity on the user's scale. Where it is a coordinate of theta itself its marginal is exactly Gaussian.
struct Quantity {
  std::string name;
  std::optional<Index> coordinate;
};

/// What a fit is about, on the user's scale.
class Reporter {
 public:
  virtual ~Reporter() = default;

  virtual std::vector<Quantity> quantities() const = 0;
  /// The quantities at draws of theta, one row a quantity, one column a draw. NaN where the model cannot say.
  virtual Matrix report(ConstMatrixRef theta, std::uint64_t seed) const = 0;
};

class ModelSource : public Reporter {
 public:
  virtual const Model& model() const = 0;
  /// The model on all rows, where `model` works on minibatches.
  virtual const Model& full_model() const { return model(); }
  /// `model` as minibatches, where it is one.
  virtual const Minibatch* minibatch() const { return nullptr; }
  /// Draws for the reported ELBO and k-hat that the model can be asked for in a reasonable time.
  virtual Index judging_draws() const { return 4000; }
  virtual Vector start() const { return model().start(); }
  /// The model in a phrase: 'logistic regression with 112 coefficients on 351 rows'.
  virtual std::string description() const = 0;
  virtual DataRecord data() const = 0;
  /// Sentences for the user: what was chosen, coded, dropped, and why.
  virtual std::vector<std::string> notes() const = 0;
  /// What the model has to say about how it was used.
  virtual std::vector<std::string> warnings_after_fit() const { return {}; }

  /// All that `magva predict` needs besides the posterior; null where rows cannot be predicted.
  virtual nlohmann::json for_prediction() const { return nullptr; }
};

/// Reads the model and data that the options of `magva fit` name. Throws UsageError, DataError or IoError.
std::unique_ptr<ModelSource> make_source(const options::Values& values);

/// The reporter of a stored fit, from what the source gave for prediction: no data are read for a regression.
std::unique_ptr<Reporter> make_reporter(const nlohmann::json& for_prediction, const options::Values& values);

}  // namespace magva::source
