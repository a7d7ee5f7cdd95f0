#pragma once
// A Stan program with its data as a posterior of the engine, on Stan's unconstrained scale; compiled through
// BridgeStan.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "magva/error.hpp"
#include "magva/model.hpp"

namespace magva::stan {

class Library;  ///< a shared library made by BridgeStan, opened and checked

/// Which blocks of the program come out besides its parameters.
struct Blocks {
  bool transformed_parameters = true;
  bool generated_quantities = false;
};

/// Draws on the user's scale: one row per quantity, one column per draw.
struct ConstrainedDraws {
  std::vector<std::string> names;  ///< as Stan writes them: theta[3], Sigma[1,2]
  Matrix values;                   ///< a column of NaN if the program threw
  Index failed = 0;
  std::string first_failure;
};

/// Draws for which the program gave no usable log density, since the model was made.
struct Rejections {
  std::uint64_t evaluated = 0;
  std::uint64_t thrown = 0;      ///< the program threw an error
  std::uint64_t non_finite = 0;  ///< the log density or its gradient was not finite
  std::string first_message;

  std::uint64_t total() const { return thrown + non_finite; }
};

class StanModel final : public Model {
 public:
  /// `data` is JSON text, empty for a program without data; `seed` serves random numbers in its transformed
  /// data. Throws DataError with Stan's message if the program rejects the data.
  StanModel(Library library, const std::string& data, std::uint32_t seed);
  ~StanModel() override;

  Index dimension() const override;
  /// log p(theta) with its constants and the Jacobian of the constraints.
  void evaluate(ConstMatrixRef theta, VectorRef log_density, MatrixRef gradient,
                Evaluation& evaluation) const override;
  bool evaluate_lines(ConstVectorRef centre, ConstMatrixRef directions, ConstVectorRef steps,
                      MatrixRef log_density, Evaluation& evaluation) const override;
  std::string parameter_name(Index i) const override;

  std::string name() const;
  /// Stan's and BridgeStan's account of how the library was made.
  std::string info() const;
  const Library& library() const;
  /// Whether draws may be evaluated concurrently: the library was compiled with STAN_THREADS.
  bool concurrent() const;

  std::vector<std::string> constrained_names(Blocks blocks) const;
  /// `seed` serves the generated quantities' random numbers.
  ConstrainedDraws constrain(ConstMatrixRef theta, Blocks blocks, std::uint32_t seed) const;
  /// The unconstrained point for values of all parameters in Stan's JSON; throws DataError with Stan's
  /// message.
  Vector unconstrain(const std::string& json) const;

  Rejections rejections() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Opens a library with the data of a JSON file; an empty path for a program without data. Errors about the
/// data name `program`, what the user knows the model by, or else the library.
std::unique_ptr<StanModel> load_model(const std::filesystem::path& library, const std::filesystem::path& data,
                                      std::uint32_t seed, const std::filesystem::path& program = {});

/// The unconstrained point that a JSON file of parameter values describes; errors name the file.
Vector read_start(const StanModel& model, const std::filesystem::path& file);

/// A program that does not compile.
class CompileError : public DataError {
 public:
  /// `output`: of the compiler, line by line; what() has both.
  CompileError(std::string sentence, std::string output)
      : DataError(sentence + ":\n" + output), sentence_(std::move(sentence)), output_(std::move(output)) {}
  const std::string& sentence() const { return sentence_; }
  const std::string& output() const { return output_; }

 private:
  std::string sentence_;
  std::string output_;
};

struct CompileOptions {
  std::filesystem::path bridgestan;  ///< a BridgeStan folder
  std::filesystem::path cache;       ///< where libraries are kept
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

/// BRIDGESTAN, and XDG_CACHE_HOME/magva or HOME/.cache/magva. Throws UsageError with what to do if
/// BRIDGESTAN is not set or names no BridgeStan folder.
CompileOptions compile_options_from_environment();

/// The library of a Stan program: compiled unless the cache holds it already for this content, these
/// flags and versions. Safe for any file name and for concurrent runs. Throws CompileError.
std::filesystem::path compile(const std::filesystem::path& program, const CompileOptions& options);

/// The library of a model file: `model` itself, or what it compiles to if its name ends in .stan.
std::filesystem::path library_of(const std::filesystem::path& model,
                                 std::function<void(const std::string&)> progress);

}  // namespace magva::stan
