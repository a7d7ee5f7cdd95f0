#pragma once
// The C interface that BridgeStan 2 documents (bridgestan.h, "C API"), as the functions found in one library.
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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
  int (*log_density)(const ModelHandle*, bool propto, bool jacobian, const double* unconstrained,
                     double* log_density, char** error);
  int (*log_density_gradient)(const ModelHandle*, bool propto, bool jacobian, const double* unconstrained,
                              double* log_density, double* gradient, char** error);
  RandomHandle* (*rng_construct)(unsigned seed, char** error);
  void (*rng_destruct)(RandomHandle*);
  int (*set_print_callback)(void (*print)(const char* text, std::size_t size), char** error);
};

// A shared library made by BridgeStan, opened and checked.

class Library {
 public:
  /// Throws IoError if there is no such file, DataError if it is no library, lacks functions of the
  /// interface, or was made by a BridgeStan before version 2.
  explicit Library(std::filesystem::path file);
  /// The same of a `program` that was compiled: the file that the user knows it by.
  Library(std::filesystem::path file, std::filesystem::path program);

  const std::filesystem::path& file() const { return file_; }
  const std::filesystem::path& program() const { return program_; }
  const Interface& bs() const { return interface_; }
  /// BridgeStan's version, such as "2.7.0".
  std::string version() const;

 private:
  struct Close {
    void operator()(void* handle) const;
  };
  std::filesystem::path file_;
  std::filesystem::path program_;
  std::unique_ptr<void, Close> handle_;
  Interface interface_;
};

/// The message of a call that takes `char** error`, freed by the library that made it.
class ErrorMessage {
 public:
  explicit ErrorMessage(const Interface& bs) : bs_(bs) {}
  ~ErrorMessage();
  ErrorMessage(const ErrorMessage&) = delete;
  ErrorMessage& operator=(const ErrorMessage&) = delete;

  char** out() { return &text_; }
  /// What the model said, on one line, without BridgeStan's account of the call; a default if it said
  /// nothing.
  std::string text() const;

 private:
  const Interface& bs_;
  char* text_ = nullptr;
};

// BridgeStan separates indices by points (Sigma.1.2) and the parts of a tuple by colons (pair:1.3); Stan's
// users write Sigma[1,2] and pair.1[3].

std::string stan_name(std::string_view bridgestan_name);

/// A comma-separated list as BridgeStan gives it, in Stan's writing.
std::vector<std::string> stan_names(std::string_view list);

}  // namespace magva::stan
