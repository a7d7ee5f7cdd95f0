#include "shape/base_model.hpp"

namespace magva {

void BaseModel::evaluate(ConstMatrixRef z, VectorRef log_density, MatrixRef gradient,
                         Evaluation& evaluation) const {
  const ShapePass pass = map_.forward(z);
  model_.evaluate(pass.theta, log_density, gradient, evaluation);
  log_density += pass.log_det;
  gradient = map_.gradient_by_base(pass, gradient);
}

}  // namespace magva
