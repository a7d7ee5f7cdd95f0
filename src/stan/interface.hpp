#pragma once
// The C interface that BridgeStan 2 documents (bridgestan.h, "C API"), as the functions found in one library.
#include <cstddef>

namespace magva::stan {

struct ModelHandle;   ///< bs_model
struct RandomHandle;  ///< bs_rng

/// Each member is the function of the same name with the prefix bs_.
struct Interface {
  ModelHandle* (*model_construct)(const char* data, unsigned seed, char** error);
  void (*model_destruct)(ModelHandle*);
  void (*free_error_msg)(char*);
  const char* (*name)(const ModelHandle*);
  const char* (*model_info)(const ModelHandle*);
  const char* (*param_names)(const ModelHandle*, bool transformed, bool generated);
  const char* (*param_unc_names)(const ModelHandle*);
  int (*param_num)(const ModelHandle*, bool transformed, bool generated);
  int (*param_unc_num)(const ModelHandle*);
  int (*param_constrain)(const ModelHandle*, bool transformed, bool generated, const double* unconstrained,
                         double* constrained, RandomHandle*, char** error);
  int (*param_unconstrain_json)(const ModelHandle*, const char* json, double* unconstrained, char** error);
  int (*log_density_gradient)(const ModelHandle*, bool propto, bool jacobian, const double* unconstrained,
                              double* log_density, double* gradient, char** error);
  RandomHandle* (*rng_construct)(unsigned seed, char** error);
  void (*rng_destruct)(RandomHandle*);
  int (*set_print_callback)(void (*print)(const char* text, std::size_t size), char** error);
};

}  // namespace magva::stan
