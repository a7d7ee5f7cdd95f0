#include "magva/version.hpp"

namespace magva {

const char* version() { return MAGVA_VERSION; }

}  // namespace magva
