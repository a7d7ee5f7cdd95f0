#include "core/checksummed_file.hpp"
#include "magva/error.hpp"
#include "magva/posterior.hpp"

namespace magva {

namespace {
constexpr const char* kKind = "posterior";
constexpr int kVersion = 1;
}  // namespace

void Gaussian::save(const std::filesystem::path& path, const std::vector<std::string>& names) const {
  io::ChecksummedWriter out(path, kKind, kVersion);
  out.integer(dense_ ? 1 : 0);
  out.matrix(mean_);
  out.matrix(factors_);
  out.matrix(residual_);
  out.integer(static_cast<std::int64_t>(names.size()));
  for (const auto& name : names) out.text(name);
  out.commit();
}

SavedPosterior load_posterior(const std::filesystem::path& path) {
  io::ChecksummedReader in(path, kKind, kVersion);
  const bool dense = in.integer() == 1;
  Vector mean = in.matrix().reshaped();
  Matrix factors = in.matrix();
  Vector residual = in.matrix().reshaped();
  std::vector<std::string> names;
  for (std::int64_t left = in.integer(); left > 0; --left) names.push_back(in.text());
  in.finish();
  const Index m = mean.size();
  const bool fits = factors.rows() == m && (dense ? factors.cols() == m : residual.size() == m) &&
                    names.size() == static_cast<std::size_t>(m);
  if (!fits)
    throw DataError("cannot use '" + path.string() + "': its parts do not fit each other; make it again");
  Gaussian gaussian;  // as saved, to the bit: it is in canonical form already
  gaussian.dense_ = dense;
  gaussian.mean_ = std::move(mean);
  gaussian.factors_ = std::move(factors);
  gaussian.residual_ = std::move(residual);
  gaussian.factorise();
  return {std::move(gaussian), std::move(names)};
}

}  // namespace magva
