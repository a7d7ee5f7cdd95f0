#include "commands/recorded_values.hpp"

#include "commands/commands.hpp"

namespace magva::commands {

options::Values recorded_values(const results::FitRecord& record) {
  options::Values values(*program().find("fit"));
  values.arguments = record.arguments;
  values.fill_in(record.options, "fit.json");
  return values;
}

}  // namespace magva::commands
