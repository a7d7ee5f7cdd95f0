#pragma once
// The sub-commands: one function and one file each.
#include "options/option_spec.hpp"

namespace magva::commands {

options::Command fit();
options::Command convert();
options::Command summary();
options::Command predict();
options::Command draws();
options::Command compare();
options::Command report();
options::Command reproduce();
options::Command completion();
options::Command man();

/// All of them, in the order of the help.
const options::Program& program();

}  // namespace magva::commands
