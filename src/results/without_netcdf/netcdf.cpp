// In place of netcdf/netcdf.cpp, for builds without the library: it brings forty others with it.
#include "magva/draws.hpp"
#include "magva/error.hpp"

namespace magva::results {

bool is_netcdf_of_draws(const std::filesystem::path&) { return false; }

void write_netcdf(const std::filesystem::path& file, const Draws&, const Origin&) {
  throw UsageError(
      "'" + file.string() +
      "' cannot be written: magva was built without NetCDF (MAGVA_NETCDF). Take another format, or "
      "Fit.to_arviz() in Python.");
}

}  // namespace magva::results
