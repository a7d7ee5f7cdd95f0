// A posterior's file from a stranger who knows how to make a checksum: refused with a sentence, or good for
// sds, draws and log densities.
#include "magva/error.hpp"
#include "posterior/save.hpp"
#include "round_trip.hpp"
#include "support/checksum.hpp"

using namespace magva;
using table::fuzz::require;

namespace {

/// The payload between a good first line and a good checksum.
std::vector<char> file_of(const unsigned char* data, std::size_t size) {
  const std::string header = "magva posterior 2\n";
  std::vector<char> file(header.begin(), header.end());
  file.insert(file.end(), data, data + size);
  test::append_checksum(file);
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  try {
    io::ChecksummedReader in("posterior.magva", file_of(data, size), kPosteriorKind, kPosteriorVersion);
    const SavedPosterior saved = read_posterior(in);
    const Gaussian& q = saved.gaussian;
    require(saved.names.size() == static_cast<std::size_t>(q.dimension()), "every coordinate has a name");
    require(q.sd().size() == q.dimension(), "every coordinate has an sd");
    require(q.log_density(q.draws(2, 1)).size() == 2, "every draw has a log density");
    require(q.best().log_density(q.best().draws(2, 1)).size() == 2, "so has every draw of the best");
  } catch (const magva::Error& error) {
    require(error.what()[0] != '\0', "an error says something");
  }
  return 0;
}
