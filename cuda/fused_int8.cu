#include "fused_kernel.cuh"

namespace magva_cuda {
MAGVA_FUSED(signed char, float);
MAGVA_FUSED(signed char, double);
}  // namespace magva_cuda
