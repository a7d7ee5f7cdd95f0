#pragma once
// BridgeStan separates indices by points (Sigma.1.2) and the parts of a tuple by colons (pair:1.3); Stan's
// users write Sigma[1,2] and pair.1[3].
#include <string>
#include <string_view>
#include <vector>

namespace magva::stan {

std::string stan_name(std::string_view bridgestan_name);

/// A comma-separated list as BridgeStan gives it, in Stan's writing.
std::vector<std::string> stan_names(std::string_view list);

}  // namespace magva::stan
