#pragma once
// The three ways to integrate group effects out.
#include <memory>

#include "mixed/group_integral.hpp"
#include "mixed/layout.hpp"

namespace magva::mixed {

/// Draws given theta use another part of the seed's noise than the draws of theta itself.
inline constexpr std::uint64_t kGroupNoise = 1;

/// Runs of equal neighbouring columns, which share what is expensive about a theta; not too long, so that
/// threads have enough to share.
std::vector<Range> equal_columns(ConstMatrixRef theta);

/// Gaussian responses: effects and coefficients in closed form, by sparse Cholesky factors.
std::unique_ptr<const MixedModel> make_closed_form(Problem problem);

/// Independent groups: effects by quadrature.
std::unique_ptr<const MixedModel> make_quadrature(std::unique_ptr<const GroupIntegral> integral);

/// Anything else: effects and coefficients by Laplace's method.
std::unique_ptr<const MixedModel> make_laplace(Problem problem);

}  // namespace magva::mixed
