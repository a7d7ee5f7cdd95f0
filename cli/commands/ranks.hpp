#pragma once
// Where the sums over a model's rows are computed: on this machine's processor or GPU, or on the ranks of an
// MPI job.
#include <functional>
#include <memory>

#include "magva/distribute.hpp"
#include "magva/model_source.hpp"
#include "options/values.hpp"

namespace magva::commands {

/// Puts a source's rows on the GPU, if --device says so.
void place_on_device(source::ModelSource& source, const options::Values& values);

/// The ranks of the job that this process is one of. The leader runs the command as if it were alone; the
/// others do their part of its sums.
class Ranks {
 public:
  /// Joins the job, if there is one.
  Ranks();
  /// The ranks of another program, which call `share` each.
  explicit Ranks(std::unique_ptr<Communicator> communicator);
  /// Lets the others go, if they still wait for something to do.
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  bool leads() const { return !communicator_ || communicator_->rank() == 0; }
  /// The leader's: what `magva fit` is asked to fit, with its rows on the device that --device names and
  /// spread over the ranks.
  source::ModelSource make_source(const options::Values& values);
  /// The others': until the leader is done. Returns the exit code.
  int serve();
  /// Called on all ranks with functions that make the same source, whose rows are spread over the ranks. The
  /// leader's has the model on all rows; on the others there is none, and they return once it is gone, or at
  /// once if a rank failed.
  source::ModelSource share(const options::Values& values, const std::function<source::ModelSource()>& make);

 private:
  source::ModelSource make_share(const options::Values& values);

  std::unique_ptr<Communicator> communicator_;  // null: a process of its own
  bool waiting_ = true;                         // the others, for a task
};

}  // namespace magva::commands
