#pragma once
// What a test library says behind BridgeStan's C interface: interface.cpp exports the interface, and each
// library adds one program by defining make_program.
#include <Eigen/Core>
#include <cstddef>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace test_stan {

using Vector = Eigen::VectorXd;

/// The blocks of one draw on the user's scale, in the order of the program's names.
struct Blocks {
  Vector parameters;
  Vector transformed;
  Vector generated;
};

class Program {
 public:
  virtual ~Program() = default;

  /// With every constant and the Jacobian. May throw, as a Stan program does.
  virtual double log_density(const Vector& theta, Vector& gradient) const = 0;
  virtual Blocks constrain(const Vector& theta, std::mt19937_64& random) const = 0;
  virtual Vector unconstrain(const nlohmann::json& values) const = 0;

  std::string name;
  bool threads = false;
  std::vector<std::string> unconstrained, parameters, transformed, generated;  ///< as BridgeStan writes names
};

/// Independent standard normals theta.1 ... theta.m, where m is in the data.
class StandardNormal : public Program {
 public:
  explicit StandardNormal(const nlohmann::json& data);
  double log_density(const Vector& theta, Vector& gradient) const override;
  Blocks constrain(const Vector& theta, std::mt19937_64& random) const override;
  Vector unconstrain(const nlohmann::json& values) const override;
};

std::vector<std::string> indexed(const std::string& name, std::size_t size);
Vector vector_of(const nlohmann::json& values);

/// What a Stan program's print statement writes to.
void print(const std::string& text);

/// Defined once in each library; throws for data that the program does not accept.
std::unique_ptr<Program> make_program(const nlohmann::json& data, unsigned seed);

}  // namespace test_stan
