#pragma once
// A fit under way. It is worked on in a folder beside the one that it is for, NAME.partial for NAME, and
// takes that one's place in one step: until then an earlier fit stays whole, and after a crash the folder is
// there to go on with.
#include <filesystem>
#include <optional>

#include "magva/fit_folder.hpp"

namespace magva::results {

/// Held by one process at a time; the system lets go of it when the process ends, in whatever way.
class FolderLock {
 public:
  /// Locks a folder that exists. IoError if another process has it.
  explicit FolderLock(const std::filesystem::path& folder);
  FolderLock(FolderLock&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();
  /// Whether the folder that was locked still has this name.
  bool is_of(const std::filesystem::path& folder) const;

 private:
  int descriptor_;
};

class UnfinishedFit {
 public:
  /// For a new fit: takes a folder that does not exist, is empty or holds a fit. Throws IoError if it cannot
  /// be written or another process works on it, UsageError if it holds something else.
  static UnfinishedFit begin(const std::filesystem::path& destination);
  /// Forgets what an earlier run left unfinished: from here on the folder is that of the new fit.
  void start();
  /// The same, to go on from the checkpoint of a fit that was stopped early, if it has one.
  void start_from(const FitFolder& stopped_early);
  /// One that was begun and not put in place; nothing if there is none. Throws as begin() does.
  static std::optional<UnfinishedFit> resume(const std::filesystem::path& destination);
  /// What was begun for this folder and has not ended.
  static std::optional<FitFolder> find(const std::filesystem::path& destination);

  /// Where its files are written.
  const FitFolder& folder() const { return work_; }
  /// The folder that it is for.
  const FitFolder& destination() const { return destination_; }

  /// Makes it the fit in its destination, in one step. What else lies there stays there; outputs of magva
  /// that belong to the earlier fit go with it.
  void install();
  /// Removes what was written since the start.
  void discard();

 private:
  UnfinishedFit(FitFolder destination, FitFolder work, FolderLock lock)
      : destination_(std::move(destination)), work_(std::move(work)), lock_(std::move(lock)) {}
  static UnfinishedFit claim(const std::filesystem::path& destination);
  void install_beside();
  void install_inside();

  FitFolder destination_;
  FitFolder work_;
  FolderLock lock_;
  bool started_ = false;
};

}  // namespace magva::results
