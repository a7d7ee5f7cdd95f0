#include "models/design_kernel.hpp"

#include "models/dense_kernel.hpp"
#include "models/sparse_kernel.hpp"

namespace magva::detail {

namespace {
template <class Scalar>
std::shared_ptr<const DesignKernel> kernel_for(const DenseRows<Scalar>& x, const Design& design) {
  if (x.cols < kLanes<Vec>) return std::make_shared<DenseKernel<Scalar, double>>(x, design);
  return std::make_shared<DenseKernel<Scalar, Vec>>(x, design);
}

std::shared_ptr<const DesignKernel> kernel_for(const SparseRows& x, const Design& design) {
  return std::make_shared<SparseKernel>(x, design);
}
}  // namespace

std::shared_ptr<const DesignKernel> make_kernel(const Design& design) {
  return std::visit([&](const auto& rows) { return kernel_for(rows, design); }, design.storage());
}

}  // namespace magva::detail
