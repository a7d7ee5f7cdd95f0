#pragma once
// What the commands that write files have in common.
#include "magva/fit_folder.hpp"
#include "options/option_spec.hpp"
#include "options/values.hpp"
#include "results/output_file.hpp"

namespace magva::commands {

/// --force.
options::OptionSpec force_option();

/// The rule for the outputs of a command, whose inputs are its arguments and the files that its options name.
results::OutputRule output_rule(const options::Values& values);
/// The same where the command works on a fit, whose data are kept too.
results::OutputRule output_rule(const options::Values& values, const results::FitRecord& fit);

}  // namespace magva::commands
