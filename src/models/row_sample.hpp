#pragma once
#include "magva/types.hpp"

namespace magva {

/// Some of the rows, standing for all: their part of the log likelihood is multiplied by `scale`.
struct RowSample {
  const Index* rows = nullptr;  ///< null: the rows 0 .. count - 1
  Index count = 0;
  double scale = 1.0;
};

}  // namespace magva
