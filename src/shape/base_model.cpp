#include "shape/base_model.hpp"

#include "core/lines.hpp"

namespace magva {

void BaseModel::evaluate(ConstMatrixRef z, VectorRef log_density, MatrixRef gradient,
                         Evaluation& evaluation) const {
  const ShapePass pass = map_.forward(z);
  model_.evaluate(pass.theta, log_density, gradient, evaluation);
  log_density += pass.log_det;
  gradient = map_.gradient_by_base(pass, gradient);
}

// Values need no way back through the layers, nor the model's gradients where it has its values without: each
// theta is then a line of its own through the origin.
bool BaseModel::evaluate_lines(ConstVectorRef centre, ConstMatrixRef directions, ConstVectorRef steps,
                               MatrixRef log_density, Evaluation& evaluation) const {
  const ShapePass pass = map_.forward(points_on_lines(centre, directions, steps));
  Vector values(pass.theta.cols());
  Eigen::Map<Matrix> row(values.data(), 1, values.size());
  if (!model_.evaluate_lines(Vector::Zero(centre.size()), pass.theta, Vector::Ones(1), row, evaluation)) {
    Matrix gradient(pass.theta.rows(), pass.theta.cols());
    model_.evaluate(pass.theta, values, gradient, evaluation);
  }
  log_density = (values + pass.log_det).reshaped(steps.size(), directions.cols());
  return true;
}

}  // namespace magva
