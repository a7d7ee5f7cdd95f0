#include "fused_kernel.cuh"

namespace magva_cuda {
MAGVA_FUSED(double, double);
}  // namespace magva_cuda
