#include "posterior/save.hpp"

#include "magva/error.hpp"
#include "mixture/gaussian_mixture.hpp"
#include "shape/shaped_gaussian.hpp"
#include "sparse/factored_precision.hpp"

namespace magva {

namespace {

/// What follows the Gaussian and its names, added up.
constexpr std::int64_t kHasCorrection = 1;
constexpr std::int64_t kHasShape = 2;
constexpr std::int64_t kHasMixture = 4;

/// What a Gaussian begins with: the form of its covariance.
enum class SavedForm : std::int64_t { kLowRank, kDense, kSpiked, kSparse };

/// Whether W'D^-2 W is the identity, and the weights leave a covariance.
bool sound_spikes(const Gaussian& gaussian) {
  const Index rank = gaussian.rank();
  if (gaussian.weights().size() != rank || !(gaussian.weights().array() > -1).all()) return false;
  const Matrix directions = gaussian.residual_sd().cwiseInverse().asDiagonal() * gaussian.factors();
  return (directions.transpose() * directions - Matrix::Identity(rank, rank)).norm() < 1e-6;
}

/// The shape, of which one pointer is not null.
struct ShapedPart {
  explicit ShapedPart(const Gaussian& gaussian)
      : shaped(dynamic_cast<const ShapedGaussian*>(&gaussian.best())),
        mixture(dynamic_cast<const GaussianMixture*>(&gaussian.best())) {
    if (gaussian.has_shape() && shaped == nullptr && mixture == nullptr)
      throw UsageError("a posterior of a shape of your own cannot be saved");
  }
  std::int64_t kind() const {
    return (shaped != nullptr ? kHasShape : 0) + (mixture != nullptr ? kHasMixture : 0);
  }
  void write(io::ChecksummedWriter& out) const {
    if (shaped != nullptr) shaped->write(out);
    if (mixture != nullptr) mixture->write(out);
  }

  const ShapedGaussian* shaped;
  const GaussianMixture* mixture;
};

}  // namespace

void write_gaussian(io::ChecksummedWriter& out, const Gaussian& gaussian) {
  if (gaussian.is_sparse()) {
    out.integer(static_cast<std::int64_t>(SavedForm::kSparse));
    out.matrix(gaussian.mean_);
    gaussian.precision_->write(out);
    return;
  }
  out.integer(static_cast<std::int64_t>(gaussian.dense_        ? SavedForm::kDense
                                        : gaussian.is_spiked() ? SavedForm::kSpiked
                                                               : SavedForm::kLowRank));
  out.matrix(gaussian.mean_);
  out.matrix(gaussian.factors_);
  out.matrix(gaussian.residual_);
  if (gaussian.is_spiked()) out.matrix(gaussian.weights_);
}

Gaussian read_gaussian(io::ChecksummedReader& in) {
  Gaussian gaussian;  // as saved, to the bit: it is in canonical form already
  const auto form = static_cast<SavedForm>(in.integer());
  if (form < SavedForm::kLowRank || form > SavedForm::kSparse)
    in.fail("its covariance has a form that this program does not know");
  gaussian.mean_ = in.matrix().reshaped();
  if (form == SavedForm::kSparse) {
    auto precision = FactoredPrecision::read(in);
    if (precision->dimension() != gaussian.mean_.size()) in.fail("its parts do not fit each other");
    return Gaussian::sparse(std::move(gaussian.mean_), std::move(precision));
  }
  gaussian.dense_ = form == SavedForm::kDense;
  gaussian.factors_ = in.matrix();
  gaussian.residual_ = in.matrix().reshaped();
  if (form == SavedForm::kSpiked) gaussian.weights_ = in.matrix().reshaped();
  const Index m = gaussian.mean_.size();
  const Index rank = gaussian.factors_.cols();
  const bool fits = m > 0 && gaussian.factors_.rows() == m &&
                    (gaussian.dense_ ? rank == m : rank <= m && gaussian.residual_.size() == m);
  if (!fits || (form == SavedForm::kSpiked && !sound_spikes(gaussian)))
    in.fail("its parts do not fit each other");
  gaussian.factorise();
  return gaussian;
}

void Gaussian::save(const std::filesystem::path& path, const std::vector<std::string>& names) const {
  const ShapedPart part(*this);
  io::ChecksummedWriter out(path, kPosteriorKind, kPosteriorVersion);
  write_gaussian(out, *this);
  out.integer(static_cast<std::int64_t>(names.size()));
  for (const auto& name : names) out.text(name);
  out.integer((has_correction() ? kHasCorrection : 0) + part.kind());
  if (has_correction()) write_gaussian(out, corrected());
  part.write(out);
  out.commit();
}

SavedPosterior load_posterior(const std::filesystem::path& path) {
  io::ChecksummedReader in(path, kPosteriorKind, kPosteriorVersion);
  return read_posterior(in);
}

SavedPosterior read_posterior(io::ChecksummedReader& in) {
  Gaussian gaussian = read_gaussian(in);
  std::vector<std::string> names;
  for (std::size_t left = in.count(); left > 0; --left) names.push_back(in.text());
  const std::int64_t parts = in.integer();
  if (parts < 0 || parts > kHasCorrection + kHasMixture)
    in.fail("it has parts that this program does not know");
  if ((parts & kHasCorrection) != 0) {
    Gaussian corrected = read_gaussian(in);
    if (corrected.dimension() != gaussian.dimension()) in.fail("its parts do not fit each other");
    gaussian = gaussian.with_correction(std::move(corrected));
  }
  if ((parts & kHasShape) != 0)
    gaussian = gaussian.with_shape(ShapedGaussian::read(in, gaussian.dimension()));
  if ((parts & kHasMixture) != 0)
    gaussian = gaussian.with_shape(GaussianMixture::read(in, gaussian.dimension()));
  in.finish();
  if (names.size() != static_cast<std::size_t>(gaussian.dimension()))
    in.fail("its parts do not fit each other");
  return {std::move(gaussian), std::move(names)};
}

}  // namespace magva
