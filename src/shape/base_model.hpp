#pragma once
// A posterior in the coordinates z in which a shape's base is Gaussian, theta = T(z): its log density is
// log h(T(z)) + log |det T'(z)|. The ELBO, the importance weights and the verdict on the base Gaussian there
// are those on the shaped posterior here, so that what is written for Gaussians does for any shape.
#include "magva/model.hpp"
#include "shape/shape_map.hpp"

namespace magva {

class BaseModel final : public Model {
 public:
  /// Both must outlive this.
  BaseModel(const Model& model, const ShapeMap& map) : model_(model), map_(map) {}

  Index dimension() const override { return model_.dimension(); }
  void evaluate(ConstMatrixRef z, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override;
  bool evaluate_lines(ConstVectorRef centre, ConstMatrixRef directions, ConstVectorRef steps,
                      MatrixRef log_density, Evaluation& evaluation) const override;
  std::unique_ptr<Scratch> make_scratch(Index max_draws) const override {
    return model_.make_scratch(max_draws);
  }
  Vector start() const override { return map_.invert(model_.start()); }
  std::string parameter_name(Index i) const override { return model_.parameter_name(i); }

 private:
  const Model& model_;
  const ShapeMap& map_;
};

}  // namespace magva
