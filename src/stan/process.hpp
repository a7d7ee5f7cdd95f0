#pragma once
// Other programs, run by argument vector: no shell ever sees a name.
#include <functional>
#include <string>
#include <vector>

namespace magva::stan {

struct ProcessResult {
  int status = 0;      ///< the exit status; 128 + the signal's number if one ended it
  std::string output;  ///< standard output and standard error together, as they came
};

/// Runs `arguments[0]`, found by PATH, with nothing on its standard input, and calls `line` for each line
/// that it writes. Throws IoError if it cannot be started.
ProcessResult run_process(const std::vector<std::string>& arguments,
                          const std::function<void(const std::string&)>& line);

/// While one of these lives, SIGINT and SIGTERM wait: the processes started meanwhile still end by them, and
/// this process clears up before it does.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
};

}  // namespace magva::stan
