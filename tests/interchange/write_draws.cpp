// Writes draws of known values in every format, for check.py to read with other programs' readers.
// Element i of draw s is 100 s + i, but for the columns that are not parameters.
#include <filesystem>

#include "magva/draws.hpp"

int main(int arguments, char** words) {
  if (arguments != 2) return 2;
  const std::filesystem::path folder = words[1];
  constexpr magva::Index draws_wanted = 50;

  magva::results::Draws draws;
  draws.names = {"mu",         "theta[1]",   "theta[2]",   "theta[3]",   "Sigma[1,1]",
                 "Sigma[2,1]", "Sigma[1,2]", "Sigma[2,2]", "Sigma[1,3]", "Sigma[2,3]"};
  const auto rows = static_cast<magva::Index>(draws.names.size());
  draws.values.resize(rows, draws_wanted);
  for (magva::Index s = 0; s < draws_wanted; ++s) {
    draws.values.col(s) = magva::Vector::LinSpaced(rows, 0, static_cast<double>(rows - 1)).array() +
                          100. * static_cast<double>(s);
  }
  draws.log_p = magva::Vector::LinSpaced(draws_wanted, -1, -50);
  draws.log_q = magva::Vector::LinSpaced(draws_wanted, -2, -3);

  const magva::results::Origin origin{"known_model", 11, "full rank"};
  magva::results::write_cmdstan_csv(folder / "draws.csv", draws, origin);
  magva::results::write_netcdf(folder / "draws.nc", draws, origin);
}
