#include "shape/shape_map.hpp"

#include <Eigen/Dense>

#include <algorithm>

#include "magva/posterior.hpp"
#include "shape/sinh_arcsinh.hpp"
#include "shape/sylvester.hpp"

namespace magva {

namespace {

/// Columns of a flow's Q, at most.
constexpr Index kMostFlowColumns = 8;
/// Of a file: more are no shape that was written here.
constexpr std::size_t kMostStages = 8;
constexpr std::size_t kMostLayers = 1000;

Matrix into_stage(const ShapeStage& stage, Matrix z) {
  z.colwise() -= stage.centre;
  stage.root.triangularView<Eigen::Lower>().solveInPlace(z);
  return z;
}

Matrix out_of_stage(const ShapeStage& stage, const Matrix& x) {
  return Matrix(stage.root.triangularView<Eigen::Lower>() * x).colwise() + stage.centre;
}

/// Covectors go the other way.
Matrix covector_into_stage(const ShapeStage& stage, const Matrix& v) {
  return stage.root.transpose().triangularView<Eigen::Upper>() * v;
}

Matrix covector_out_of_stage(const ShapeStage& stage, Matrix v) {
  stage.root.transpose().triangularView<Eigen::Upper>().solveInPlace(v);
  return v;
}

/// Through all layers from the last to the first: visit(layer, its input, v).
template <class Stages, class Visit>
Matrix backwards(Stages& stages, const ShapePass& pass, Matrix v, Visit visit) {
  std::size_t layer = pass.inputs.size();
  for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage) {
    v = covector_into_stage(*stage, v);
    for (auto at = stage->layers.rbegin(); at != stage->layers.rend(); ++at)
      visit(**at, pass.inputs[--layer], v);
    v = covector_out_of_stage(*stage, std::move(v));
  }
  return v;
}

}  // namespace

Matrix covariance_root(const Gaussian& gaussian) {
  if (gaussian.is_dense()) return gaussian.factors();
  Matrix covariance = gaussian.factors() * gaussian.factors().transpose();
  covariance.diagonal() += gaussian.residual_sd().cwiseAbs2();
  return covariance.llt().matrixL();
}

ShapeMap::ShapeMap(const ShapeMap& other) : name_(other.name_) {
  for (const ShapeStage& stage : other.stages_) {
    stages_.push_back({stage.centre, stage.root, {}});
    for (const auto& layer : stage.layers) stages_.back().layers.push_back(layer->clone());
  }
}

ShapeMap ShapeMap::skewed(const Gaussian& around) {
  ShapeMap out;
  out.name_ = "skewed";
  for (Matrix root : {covariance_root(around), Matrix(around.sd().asDiagonal())}) {
    out.stages_.push_back({around.mean(), std::move(root), {}});
    out.stages_.back().layers.push_back(std::make_unique<SinhArcsinh>(around.dimension()));
  }
  return out;
}

ShapeMap ShapeMap::of_margins(Vector centre, const Vector& scale, std::unique_ptr<Layer> layer) {
  ShapeMap out;
  out.name_ = "skewed";
  out.stages_.push_back({std::move(centre), scale.asDiagonal(), {}});
  out.stages_.back().layers.push_back(std::move(layer));
  return out;
}

ShapeMap ShapeMap::flow(const Gaussian& around, int layers, std::uint64_t seed) {
  ShapeMap out;
  out.name_ = "flow";
  out.stages_.push_back({around.mean(), covariance_root(around), {}});
  const Index columns = std::min(around.dimension(), kMostFlowColumns);
  for (int k = 0; k < layers; ++k)
    out.stages_.back().layers.push_back(
        std::make_unique<Sylvester>(around.dimension(), columns, seed + static_cast<std::uint64_t>(k)));
  return out;
}

ShapePass ShapeMap::forward(ConstMatrixRef z) const {
  ShapePass pass{{}, z, Vector::Zero(z.cols())};
  for (const ShapeStage& stage : stages_) {
    Matrix x = into_stage(stage, std::move(pass.theta));
    for (const auto& layer : stage.layers) {
      pass.inputs.push_back(x);
      layer->forward(x, pass.log_det);
    }
    pass.theta = out_of_stage(stage, x);
  }
  return pass;
}

Matrix ShapeMap::invert(ConstMatrixRef theta) const {
  Matrix z = theta;
  for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
    Matrix x = into_stage(*stage, std::move(z));
    for (auto layer = stage->layers.rbegin(); layer != stage->layers.rend(); ++layer) (*layer)->invert(x);
    z = out_of_stage(*stage, x);
  }
  return z;
}

Matrix ShapeMap::gradient_by_base(const ShapePass& pass, Matrix v) const {
  return backwards(stages_, pass, std::move(v), [](const Layer& layer, const Matrix& x, Matrix& at) {
    layer.pull_back(x, at);
    layer.add_log_det_gradient(x, 1, at);
  });
}

Matrix ShapeMap::score(const ShapePass& pass, Matrix v) const {
  std::size_t layer = 0;
  for (const ShapeStage& stage : stages_) {
    v = covector_into_stage(stage, v);
    for (const auto& at : stage.layers) {
      const Matrix& x = pass.inputs[layer++];
      at->add_log_det_gradient(x, -1, v);
      at->push_forward(x, v);
    }
    v = covector_out_of_stage(stage, std::move(v));
  }
  return v;
}

Matrix ShapeMap::set_gradients(const ShapePass& pass, Matrix v) {
  return backwards(stages_, pass, std::move(v), [](Layer& layer, const Matrix& x, Matrix& at) {
    layer.set_gradients(x, at);
    layer.pull_back(x, at);
  });
}

std::unique_ptr<Layer> read_layer(io::ChecksummedReader& in, Index dimension) {
  const std::string kind = in.text();
  if (kind == "sinh-arcsinh") return SinhArcsinh::read(in, dimension);
  if (kind == "sylvester") return Sylvester::read(in, dimension);
  in.fail("it has a layer of a kind that this program does not know");
}

void ShapeMap::write(io::ChecksummedWriter& out) const {
  out.text(name_);
  out.integer(static_cast<std::int64_t>(stages_.size()));
  for (const ShapeStage& stage : stages_) {
    out.matrix(stage.centre);
    out.matrix(stage.root);
    out.integer(static_cast<std::int64_t>(stage.layers.size()));
    for (const auto& layer : stage.layers) layer->write(out);
  }
}

ShapeMap ShapeMap::read(io::ChecksummedReader& in, Index dimension) {
  ShapeMap out;
  out.name_ = in.text();
  if (out.name_ != "skewed" && out.name_ != "flow") in.fail("it has a shape that this program does not know");
  const std::size_t stages = in.count();
  if (stages == 0 || stages > kMostStages) in.fail("its parts do not fit each other");
  for (std::size_t k = 0; k < stages; ++k) {
    ShapeStage stage{in.matrix().reshaped(), in.matrix(), {}};
    const bool fits = stage.centre.size() == dimension && stage.root.rows() == dimension &&
                      stage.root.cols() == dimension && stage.centre.allFinite() && stage.root.allFinite();
    if (!fits || !(stage.root.diagonal().array() > 0).all()) in.fail("its parts do not fit each other");
    const std::size_t layers = in.count();
    if (layers > kMostLayers) in.fail("its parts do not fit each other");
    for (std::size_t j = 0; j < layers; ++j) stage.layers.push_back(read_layer(in, dimension));
    out.stages_.push_back(std::move(stage));
  }
  return out;
}

}  // namespace magva
