#pragma once

namespace magva {

const char* version();

}  // namespace magva
