#pragma once
#include <string_view>

namespace magva::input {

/// Whether the bytes are well-formed UTF-8 (no overlong forms, no surrogates, nothing above U+10FFFF).
bool is_utf8(std::string_view bytes);

}  // namespace magva::input
