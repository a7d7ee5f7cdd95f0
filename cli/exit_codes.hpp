#pragma once
// The program's exit codes, as documented in the guide.

namespace magva {

enum ExitCode : int {
  kOk = 0,
  kUsage = 2,                ///< an invalid option or argument
  kNotTrusted = 3,           ///< finished, but the result is not to be trusted
  kData = 65,                ///< data or a model that cannot be used
  kBug = 70,                 ///< an internal error
  kIo = 74,                  ///< a file or folder that cannot be read or written
  kKilledByInterrupt = 130,  ///< the second Ctrl-C
};

}  // namespace magva
