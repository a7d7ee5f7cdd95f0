#pragma once
// The folder of a fit: which files it has, and when a folder may become one.
#include <filesystem>

namespace magva::results {

class FitFolder {
 public:
  /// For a new fit: makes the folder where there is none, and takes one that is empty or holds an earlier
  /// fit. Throws IoError where it cannot be written, UsageError where it holds something else.
  static FitFolder create(const std::filesystem::path& path);
  /// Of an earlier fit; IoError where there is none.
  static FitFolder open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path record() const { return path_ / "fit.json"; }
  std::filesystem::path trace() const { return path_ / "trace.csv"; }
  std::filesystem::path posterior() const { return path_ / "posterior.magva"; }
  std::filesystem::path model() const { return path_ / "model.json"; }  ///< what prediction needs
  std::filesystem::path checkpoint() const { return path_ / "checkpoint.magva"; }
  bool has_checkpoint() const;

  /// Removes what an earlier fit left.
  void clear() const;
  /// Takes the files of a fit away again, and the folder, where `create` made it.
  void abandon() const;

 private:
  FitFolder(std::filesystem::path path, bool made) : path_(std::move(path)), made_(made) {}
  std::filesystem::path path_;
  bool made_;
};

}  // namespace magva::results
