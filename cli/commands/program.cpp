#include "commands/commands.hpp"

namespace magva::commands {

const options::Program& program() {
  static const options::Program all = {"magva",
                                       "Gaussian approximations of posteriors by variational inference",
                                       {fit(), convert(), summary(), predict(), draws(), compare(), report(),
                                        reproduce(), completion(), man()}};
  return all;
}

}  // namespace magva::commands
