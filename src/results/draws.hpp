#pragma once
// Draws from a fitted posterior, as they are written for other programs.
#include <cstdint>
#include <string>
#include <vector>

#include "magva/types.hpp"

namespace magva::results {

struct Draws {
  std::vector<std::string> names;  ///< as Stan writes them: mu, theta[3], Sigma[1,2]
  Matrix values;                   ///< one row a name, one column a draw
  Vector lp;                       ///< the model's log density with its constants, a draw an entry
  Vector log_p;                    ///< the same, under the name that variational methods give it
  Vector log_g;                    ///< the normalised log density of the approximation

  Index size() const { return values.cols(); }
};

/// Where draws come from, for the head of a file.
struct Origin {
  std::string model;
  std::uint64_t seed = 0;
  std::string family;  ///< the approximating family
};

}  // namespace magva::results
