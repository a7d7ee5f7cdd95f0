#include "options/option_spec.hpp"

#include "exit_codes.hpp"

namespace magva::options {

namespace {

const OptionSpec kHelp = {.name = "help",
                          .value = "",
                          .standard = "",
                          .help = "show this help",
                          .kind = ValueKind::flag,
                          .letter = 'h'};

}  // namespace

std::vector<OptionSpec> Command::options() const {
  std::vector<OptionSpec> all;
  for (const auto& group : groups) all.insert(all.end(), group.options.begin(), group.options.end());
  all.push_back(kHelp);
  return all;
}

const OptionSpec* Command::find(const std::string& option) const {
  for (const auto& group : groups)
    for (const auto& spec : group.options)
      if (spec.name == option) return &spec;
  return option == kHelp.name ? &kHelp : nullptr;
}

const Command* Program::find(const std::string& command) const {
  for (const auto& candidate : commands)
    if (candidate.name == command) return &candidate;
  return nullptr;
}

std::vector<ExitCodeText> exit_code_texts() {
  return {
      {kOk, "done, and the result may be used as the summary says"},
      {kUsage, "an option or argument that cannot be meant"},
      {kNotTrusted, "finished or stopped early, and saved, but not to be trusted: the message says why"},
      {kData, "data or a model that cannot be used"},
      {kBug, "an internal error: please report it"},
      {kIo, "a file or folder that cannot be read or written"},
      {kKilledByInterrupt, "interrupted twice, nothing more was saved"},
  };
}

}  // namespace magva::options
