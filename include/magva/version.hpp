#pragma once

namespace magva {

/// Of the library and the program, such as "1.2.0".
const char* version();

}  // namespace magva
