#pragma once
// Supervised discretisation: Fayyad & Irani (1993), "Multi-interval discretization of continuous-valued
// attributes for classification learning".
#include <span>
#include <vector>

#include "magva/types.hpp"

namespace magva::table {

/// The cuts, in increasing order, that split `values` into bins by recursive minimisation of the class
/// entropy, each accepted if it shortens the description (MDL principle, with the log2(N - 1) term).
/// Candidates are the midpoints of all neighbouring values; the first of equally good ones is taken.
/// `classes` are 0 .. number_of_classes - 1; values are finite.
std::vector<double> mdlp_cuts(std::span<const double> values, std::span<const int> classes,
                              int number_of_classes);

/// The bin of a value, from 0: the number of cuts below it. A value equal to a cut belongs to the lower bin.
Index bin_of(double value, std::span<const double> cuts);

}  // namespace magva::table
