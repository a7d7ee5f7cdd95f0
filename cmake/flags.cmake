# One interface target carries the flags that every source of the project is compiled with.
add_library(magva_flags INTERFACE)
target_compile_options(magva_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Werror -fno-math-errno)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC 12 warns falsely inside its own AVX-512 intrinsics (GCC bug 105593).
  target_compile_options(magva_flags INTERFACE -Wno-maybe-uninitialized -Wno-uninitialized)
endif()
if(MAGVA_NATIVE)
  target_compile_options(magva_flags INTERFACE -march=native)
endif()
if(MAGVA_SANITIZE)
  target_compile_options(magva_flags INTERFACE -fsanitize=${MAGVA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(magva_flags INTERFACE -fsanitize=${MAGVA_SANITIZE})
endif()
