# magva_flags: what every source of the project is compiled with. Its parts are what holds for any processor, and the processor.
add_library(magva_common INTERFACE)
target_compile_options(magva_common INTERFACE -Wall -Wextra -Wpedantic -Wconversion
  $<$<BOOL:${MAGVA_WERROR}>:-Werror> -fno-math-errno -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC 12 warns falsely inside its own AVX-512 intrinsics (GCC bug 105593).
  target_compile_options(magva_common INTERFACE -Wno-maybe-uninitialized -Wno-uninitialized)
endif()
if(MAGVA_SANITIZE)
  target_compile_options(magva_common INTERFACE -fsanitize=${MAGVA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(magva_common INTERFACE -fsanitize=${MAGVA_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)  # checks by calls, not inline: they compile in half the time
    # BridgeStan's functions take handles that are types of our own, which the check of function types would not have.
    target_compile_options(magva_common INTERFACE -fno-sanitize=function -fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitize-ignore.txt
      "SHELL:-mllvm -asan-instrumentation-with-call-threshold=0")
  endif()
endif()

# What is installed and packaged runs on every processor of its kind: the program and the data library are compiled for the
# first x86-64, the engine for that and for two later levels, of which the dynamic loader takes the best that it can
# (glibc-hwcaps; glibc 2.33).
set(MAGVA_BASELINE ${MAGVA_ARCH})
set(MAGVA_LEVELS)
if(MAGVA_PORTABLE)
  set(MAGVA_BASELINE "")
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
    set(MAGVA_BASELINE x86-64)
    set(MAGVA_LEVELS x86-64-v3 x86-64-v4)
  endif()
endif()
add_library(magva_arch INTERFACE)
if(MAGVA_BASELINE)
  target_compile_options(magva_arch INTERFACE -march=${MAGVA_BASELINE})
endif()
foreach(level ${MAGVA_LEVELS})
  add_library(magva_arch_${level} INTERFACE)
  target_compile_options(magva_arch_${level} INTERFACE -march=${level})
endforeach()
add_library(magva_flags INTERFACE)
target_link_libraries(magva_flags INTERFACE magva_common magva_arch)

# Code that reads what others wrote: libFuzzer sees which of its branches an input takes. It looks at every counter after every
# input, so the engine's own hot code has none, and each function has a section of its own: a fuzzer is linked without the functions,
# and their counters, that it never reaches.
function(magva_reads_input target)
  if(MAGVA_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link -ffunction-sections -fdata-sections)
  endif()
endfunction()

# Code that runs once in a fit, or once in a command, is not worth the optimiser's time in a release build. What is left is the time to
# read headers: a quick build has larger groups of it.
function(magva_cold_code target level)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:${level}>)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 16)
endfunction()
