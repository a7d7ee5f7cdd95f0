#include "shape/sinh_arcsinh.hpp"

namespace magva {

namespace {

using Array = Eigen::ArrayXd;

constexpr Index kParameters = 4;
/// Far beyond what the margins of posteriors need: transforms and inverses stay within double precision.
constexpr double kLeastParameter[kParameters] = {-3, -2, -5, -2};
constexpr double kMostParameter[kParameters] = {3, 1, 5, 2};

// By logarithms and exponentials, which Eigen has in vector code.
Array arcsinh(const Array& u) { return u.sign() * (u.abs() + (1 + u.square()).sqrt()).log(); }
Array sinh_of(const Array& exponential) { return .5 * (exponential - exponential.inverse()); }
Array cosh_of(const Array& exponential) { return .5 * (exponential + exponential.inverse()); }

}  // namespace

/// An entry for each coordinate.
struct SinhArcsinh::Transform {
  Array skew;
  Array power;  // exp(t)
  Array centre;
  Array width;  // exp(w)
  Array sinh_skew, cosh_skew;
  Array unit;  // the slope of sinh(power asinh u + skew) at 0

  Array inverse(const Array& y) const {
    const Array bent = (y - centre) / width * unit + sinh_skew;
    return centre + width * sinh_of(((arcsinh(bent) - skew) / power).exp());
  }
};

/// A draw on its way through.
struct SinhArcsinh::Point {
  Point(const Transform& f, ConstVectorRef x)
      : u((x.array() - f.centre) / f.width), root((1 + u.square()).sqrt()), bent_u(arcsinh(u)) {
    const Array exponential = (f.power * bent_u + f.skew).exp();
    sinh = sinh_of(exponential);
    cosh = cosh_of(exponential);
    bend = (sinh - f.sinh_skew) / f.unit;
    slope = cosh / (f.cosh_skew * root);
  }

  Array u;
  Array root;        // (1 + u^2)^1/2
  Array bent_u;      // asinh u
  Array sinh, cosh;  // of power asinh u + skew
  Array bend;        // y = centre + width bend
  Array slope;       // dy / dx
};

SinhArcsinh::Transform SinhArcsinh::transform() const {
  const auto parameter = [this](std::size_t k) { return Array(parameters_[k].value.array()); };
  Transform f{parameter(0), parameter(1).exp(), parameter(2), parameter(3).exp(), {}, {}, {}};
  f.sinh_skew = f.skew.sinh();
  f.cosh_skew = f.skew.cosh();
  f.unit = f.cosh_skew * f.power;
  return f;
}

SinhArcsinh::SinhArcsinh(Index dimension) : SinhArcsinh(Matrix::Zero(dimension, kParameters)) {}

SinhArcsinh::SinhArcsinh(const Matrix& parameters) {
  for (Index k = 0; k < kParameters; ++k)
    parameters_.push_back({ManifoldKind::kEuclidean, parameters.col(k), Matrix::Zero(parameters.rows(), 1)});
}

void SinhArcsinh::forward(MatrixRef x, VectorRef log_det) const {
  const Transform f = transform();
  for (Index s = 0; s < x.cols(); ++s) {
    const Point at(f, x.col(s));
    log_det(s) += at.slope.log().sum();
    x.col(s) = f.centre + f.width * at.bend;
  }
}

void SinhArcsinh::invert(MatrixRef y) const {
  const Transform f = transform();
  for (Index s = 0; s < y.cols(); ++s) y.col(s) = f.inverse(y.col(s));
}

void SinhArcsinh::pull_back(ConstMatrixRef x, MatrixRef v) const {
  const Transform f = transform();
  for (Index s = 0; s < x.cols(); ++s) v.col(s).array() *= Point(f, x.col(s)).slope;
}

void SinhArcsinh::push_forward(ConstMatrixRef x, MatrixRef v) const {
  const Transform f = transform();
  for (Index s = 0; s < x.cols(); ++s) v.col(s).array() /= Point(f, x.col(s)).slope;
}

void SinhArcsinh::add_log_det_gradient(ConstMatrixRef x, double factor, MatrixRef v) const {
  const Transform f = transform();
  for (Index s = 0; s < x.cols(); ++s) {
    const Point at(f, x.col(s));
    v.col(s).array() += factor * (at.sinh / at.cosh * f.power / at.root - at.u / at.root.square()) / f.width;
  }
}

void SinhArcsinh::set_gradients(ConstMatrixRef x, ConstMatrixRef v) {
  const Transform f = transform();
  const Array tanh_skew = f.sinh_skew / f.cosh_skew;
  for (LayerParameter& parameter : parameters_) parameter.gradient.setZero();
  for (Index s = 0; s < x.cols(); ++s) {
    const Point at(f, x.col(s));
    const auto add = [&](std::size_t k, const Array& by_parameter) {
      parameters_[k].gradient.array() += v.col(s).array() * by_parameter;
    };
    add(0, f.width * ((at.cosh - f.cosh_skew) / f.unit - at.bend * tanh_skew));
    add(1, f.width * (at.cosh * f.power * at.bent_u / f.unit - at.bend));
    add(2, 1 - at.slope);
    add(3, f.width * (at.bend - at.u * at.slope));
  }
}

void SinhArcsinh::constrain() {
  for (std::size_t k = 0; k < parameters_.size(); ++k)
    parameters_[k].value = parameters_[k].value.cwiseMax(kLeastParameter[k]).cwiseMin(kMostParameter[k]);
}

void SinhArcsinh::write(io::ChecksummedWriter& out) const {
  Matrix all(dimension(), kParameters);
  for (Index k = 0; k < kParameters; ++k) all.col(k) = parameters_[static_cast<std::size_t>(k)].value;
  out.text("sinh-arcsinh");
  out.matrix(all);
}

std::unique_ptr<Layer> SinhArcsinh::read(io::ChecksummedReader& in, Index dimension) {
  const Matrix parameters = in.matrix();
  if (parameters.rows() != dimension || parameters.cols() != kParameters || !parameters.allFinite())
    in.fail("its parts do not fit each other");
  auto layer = std::make_unique<SinhArcsinh>(parameters);
  layer->constrain();
  return layer;
}

}  // namespace magva
