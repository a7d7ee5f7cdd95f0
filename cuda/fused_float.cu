#include "fused_kernel.cuh"

namespace magva_cuda {
MAGVA_FUSED(float, float);
}  // namespace magva_cuda
