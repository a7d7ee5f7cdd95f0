#pragma once
// What must hold for every table that a reader accepts, whatever bytes it came from.
#include "magva/table.hpp"

namespace magva::table::fuzz {

/// Ends the process with a message where `holds` is false: libFuzzer takes that for a crash and keeps the
/// input.
void require(bool holds, const char* what);

/// Every column has a value for each row: finite, or missing, or the number of a level.
void check_table(const Table& table);

/// Learns a design, of a kind that `choice` decides, and checks that its specification, sent through JSON,
/// gives the same design.
void check_design(const Table& table, unsigned choice);

}  // namespace magva::table::fuzz
