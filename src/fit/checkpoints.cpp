#include "fit/checkpoints.hpp"

namespace magva {

namespace {
constexpr const char* kCheckpointKind = "checkpoint";
// 1 had the rules' memory in other panels, 2 no head, 3 no standard errors, 4 no sparse curvatures, 5 no sds
// of candidates, 7 none that were found by their ELBO, 8 no noise of all windows
constexpr int kCheckpointVersion = 9;
}  // namespace

void Checkpoints::save(const Write& write) const {
  if (!options_) return;
  io::ChecksummedWriter out(options_->path, kCheckpointKind, kCheckpointVersion);
  out.text(options_->identity);
  out.text(way_);
  out.text(options_->attach ? options_->attach() : std::string());
  write(out);
  out.commit();
}

void Checkpoints::save_when_due(double seconds, const Write& write) {
  if (!options_) return;
  if (!next_) next_ = seconds + options_->every;
  if (seconds < *next_) return;
  save(write);
  next_ = seconds + options_->every;
}

void Checkpoints::load(const Read& read) const {
  io::ChecksummedReader in(options_->path, kCheckpointKind, kCheckpointVersion);
  if (in.text() != options_->identity) in.fail("it is of another fit");
  if (in.text() != way_) in.fail("it is of another way of fitting");
  const std::string attached = in.text();
  read(in);
  in.finish();
  if (options_->restore) options_->restore(attached);
}

}  // namespace magva
