#include "results/unfinished_fit.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/atomic_file.hpp"
#include "magva/error.hpp"
#include "results/output_file.hpp"

namespace magva::results {

namespace {

namespace fs = std::filesystem;

/// In a folder that is worked on, from its first to its last file.
constexpr const char* kMarker = "unfinished";
constexpr const char* kMarkerText =
    "A fit that has not ended, or whose process was killed: 'magva fit --resume --out FOLDER' goes on with "
    "it, FOLDER being the name of this folder without '.partial'.\n";
/// In a folder whose place another fit takes, or has taken: then it can be removed.
constexpr const char* kReplaced = "replaced";
constexpr const char* kReplacedText = "Another fit is taking the place of this one.\n";
constexpr std::size_t kProbe = std::size_t{1} << 16U;  // bytes

IoError system_error(const char* what, const fs::path& path, int error) {
  return IoError(fmt::format("cannot {} '{}': {}; choose another folder with --out", what, path.string(),
                             std::strerror(error)));
}

/// Without links, and without a slash at the end.
fs::path resolved(const fs::path& path) {
  std::error_code error;
  fs::path out = fs::weakly_canonical(io::follow_links(fs::absolute(path)), error);
  if (error) throw system_error("use the folder", path, error.value());
  return out.has_filename() ? out : out.parent_path();
}

/// A mount point, or the folder that someone works in, cannot be renamed, or should not be; nor can one be
/// put beside a folder whose parent is read-only.
bool can_be_replaced(const fs::path& folder) {
  std::error_code error;
  const fs::path parent = folder.parent_path();
  if (folder == parent) return false;
  if (!fs::exists(folder, error)) return true;
  struct stat of_folder {};
  struct stat of_parent {};
  if (::stat(folder.c_str(), &of_folder) != 0 || ::stat(parent.c_str(), &of_parent) != 0) return true;
  if (of_folder.st_dev != of_parent.st_dev || ::access(parent.c_str(), W_OK) != 0) return false;
  const fs::path here = fs::current_path(error);
  return error || (here / "").string().find((folder / "").string()) != 0;
}

fs::path work_folder(const fs::path& destination) {
  if (!can_be_replaced(destination)) return destination / ".partial";
  fs::path beside = destination;
  beside += ".partial";
  return beside;
}

bool has_file(const fs::path& folder, const char* name) {
  std::error_code error;
  return fs::is_regular_file(fs::symlink_status(folder / name, error));
}

bool is_marked(const fs::path& folder) { return has_file(folder, kMarker); }

/// Removes all but the file of this name, by which a folder is known as long as there is anything else in it.
void remove_all_but(const fs::path& folder, const char* name) {
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename() != name) fs::remove_all(entry.path());
}

/// A process may be killed anywhere in here: what is left is known by its marker.
void remove_folder(const fs::path& folder, const char* marker) noexcept {
  try {
    remove_all_but(folder, marker);
    fs::remove_all(folder);
  } catch (const std::exception&) {  // it goes with the next fit
  }
}

// Better to know before the fit than after it.
void try_to_write(const fs::path& folder) {
  io::write_text(folder / kMarker, [](std::ostream& out) { out << kMarkerText; });
  const fs::path probe = folder / "probe";
  io::write_text(probe, [](std::ostream& out) { out << std::string(kProbe, ' '); });
  std::error_code ignored;
  fs::remove(probe, ignored);
}

/// UsageError unless the folder was made for work, by this process or another.
void check_for_work(const fs::path& work) {
  if (is_marked(work) || has_file(work, kReplaced)) return;
  for (const auto& entry : fs::directory_iterator(work))
    if (entry.path().extension() != ".part")  // of a marker that was not written to its end
      throw UsageError(
          fmt::format("the folder '{}', in which the fit would be worked on, holds other files: choose "
                      "another name with --out, or move it",
                      work.string()));
}

/// UsageError unless the folder is new, empty, or has held a fit.
void check_for_fits(const fs::path& folder, const fs::path& work) {
  std::error_code error;
  if (!fs::exists(folder, error)) return;
  if (!fs::is_directory(folder, error))
    throw IoError(
        fmt::format("cannot make the folder '{}': there is a file of that name; choose another with --out",
                    folder.string()));
  if (FitFolder(folder).holds_a_fit()) return;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path() != work && entry.path().filename() != kReplaced)
      throw UsageError(
          fmt::format("the folder '{}' holds other files and no fit: choose a new or empty folder with --out",
                      folder.string()));
}

/// Outputs of magva about an earlier fit, whose parameters had these names.
bool is_about_fit(const fs::path& file, const std::vector<std::string>& names) {
  const std::string name = file.filename().string();
  if (is_file_of_fit(file) || name == kMarker || name == kReplaced || name == "report.html" ||
      name == "report-figures" || name == ".partial" || file.extension() == ".part")
    return true;
  if (!fs::is_regular_file(fs::symlink_status(file))) return false;
  constexpr std::array kAbout = {OutputKind::kDrawsCsv,    OutputKind::kCmdstanCsv, OutputKind::kNetcdf,
                                 OutputKind::kPredictions, OutputKind::kScores,     OutputKind::kReport};
  return std::any_of(kAbout.begin(), kAbout.end(),
                     [&](OutputKind kind) { return is_output_of_kind(file, kind, names); });
}

std::vector<std::string> parameter_names(const FitFolder& folder) {
  std::vector<std::string> names;
  try {
    for (const auto& parameter : load_record(folder.record()).parameters) names.push_back(parameter.name);
  } catch (const Error&) {  // a damaged record: its draws are not recognised, and stay
  }
  return names;
}

/// A second name for a file or, file by file, a folder; a copy where the file system has no second names.
void link_or_copy(const fs::path& from, const fs::path& to) {
  if (fs::is_directory(fs::symlink_status(from))) {
    fs::create_directory(to, from);
    for (const auto& entry : fs::directory_iterator(from))
      link_or_copy(entry.path(), to / entry.path().filename());
    return;
  }
  std::error_code error;
  fs::create_hard_link(from, to, error);
  if (error) fs::copy(from, to, fs::copy_options::copy_symlinks);
}

/// What a user has put beside the files of an earlier fit goes on to the new one.
void keep_other_files(const FitFolder& from, const fs::path& to) {
  const auto names = parameter_names(from);
  for (const auto& entry : fs::directory_iterator(from.path()))
    if (!is_about_fit(entry.path(), names)) link_or_copy(entry.path(), to / entry.path().filename());
}

void rename_folder(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) throw system_error("put the fit in place as", to, errno);
}

/// The two folders change their names, in one step where the file system can. If the process is killed
/// between the two steps, the new fit is found where it was written, and --resume puts it in place.
void exchange_folders(const fs::path& a, const fs::path& b) {
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return;
  fs::path aside = b;
  aside += ".replaced";
  rename_folder(b, aside);
  try {
    rename_folder(a, b);
  } catch (const IoError&) {
    rename_folder(aside, b);
    throw;
  }
  rename_folder(aside, a);
}

}  // namespace

FolderLock::FolderLock(const fs::path& folder)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0) throw system_error("use the folder", folder, errno);
  // Some file systems cannot lock a folder: there, two fits into one folder are not noticed.
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(descriptor_);
  throw IoError(
      fmt::format("another magva fit is writing to '{}': wait for it, or choose another folder with --out",
                  folder.string()));
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool FolderLock::is_of(const fs::path& folder) const {
  struct stat locked {};
  struct stat named {};
  return ::fstat(descriptor_, &locked) == 0 && ::stat(folder.c_str(), &named) == 0 &&
         locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
}

std::optional<FitFolder> UnfinishedFit::find(const fs::path& destination) {
  const fs::path work = work_folder(resolved(destination));
  FitFolder folder(work);
  if (!is_marked(work) || !folder.holds_a_fit()) return std::nullopt;
  return folder;
}

/// The folder to work in, locked; with whatever an earlier run has left there.
UnfinishedFit UnfinishedFit::claim(const fs::path& path) {
  const fs::path destination = resolved(path);
  const fs::path work = work_folder(destination);
  try {
    check_for_fits(destination, work);
    for (;;) {
      fs::create_directories(work);
      FolderLock lock(work);
      if (!lock.is_of(work)) continue;  // its owner has just put it in place
      check_for_work(work);
      return {FitFolder(destination), FitFolder(work), std::move(lock)};
    }
  } catch (const fs::filesystem_error& error) {
    throw system_error("use the folder", destination, error.code().value());
  }
}

UnfinishedFit UnfinishedFit::begin(const fs::path& destination) {
  UnfinishedFit fit = claim(destination);
  const fs::path& work = fit.work_.path();
  try {
    if (!is_marked(work)) {  // what is left of a fit that was replaced
      remove_all_but(work, kReplaced);
      fs::remove(work / kReplaced);
    }
    try_to_write(work);
  } catch (const fs::filesystem_error& error) {
    throw system_error("use the folder", work, error.code().value());
  }
  return fit;
}

void UnfinishedFit::start() {
  try {
    remove_all_but(work_.path(), kMarker);
  } catch (const fs::filesystem_error& error) {
    throw system_error("use the folder", work_.path(), error.code().value());
  }
  started_ = true;
}

void UnfinishedFit::start_from(const FitFolder& stopped_early) {
  start();
  std::error_code error;
  if (stopped_early.has_checkpoint()) fs::copy_file(stopped_early.checkpoint(), work_.checkpoint(), error);
  if (error) throw system_error("go on with the fit in", stopped_early.path(), error.value());
}

std::optional<UnfinishedFit> UnfinishedFit::resume(const fs::path& destination) {
  if (!find(destination)) return std::nullopt;
  UnfinishedFit fit = claim(destination);
  if (!is_marked(fit.work_.path())) return std::nullopt;  // it has just been put in place
  return fit;
}

void UnfinishedFit::discard() {
  const bool of_earlier_run = !started_ && (work_.holds_a_fit() || work_.has_checkpoint());
  if (!of_earlier_run) remove_folder(work_.path(), kMarker);
}

void UnfinishedFit::install() {
  try {
    if (work_.path().parent_path() == destination_.path())
      install_inside();
    else
      install_beside();
  } catch (const fs::filesystem_error& error) {
    throw system_error("put the fit in place as", destination_.path(), error.code().value());
  }
}

void UnfinishedFit::install_beside() {
  const fs::path& place = destination_.path();
  const fs::path& work = work_.path();
  if (fs::exists(place)) {
    const FolderLock earlier(place);
    keep_other_files(destination_, work);
    io::write_text(place / kReplaced, [](std::ostream& out) { out << kReplacedText; });
    io::flush_folder(work);
    exchange_folders(work, place);
    io::flush_folder(place.parent_path());
    remove_folder(work, kReplaced);
  } else {
    io::flush_folder(work);
    rename_folder(work, place);
    io::flush_folder(place.parent_path());
  }
  std::error_code ignored;
  fs::remove(place / kMarker, ignored);
}

// File by file: between two of them the folder is of two fits and refused, and --resume moves the rest.
void UnfinishedFit::install_inside() {
  const auto names = parameter_names(destination_);
  for (const auto& entry : fs::directory_iterator(destination_.path()))
    if (entry.path() != work_.path() && is_about_fit(entry.path(), names) && !is_file_of_fit(entry.path()))
      fs::remove_all(entry.path());
  if (!work_.has_checkpoint()) fs::remove(destination_.checkpoint());
  for (const auto& entry : fs::directory_iterator(work_.path()))
    if (entry.path() != work_.record() && entry.path().filename() != kMarker)
      fs::rename(entry.path(), destination_.path() / entry.path().filename());
  fs::rename(work_.record(), destination_.record());
  io::flush_folder(destination_.path());
  remove_folder(work_.path(), kMarker);
}

}  // namespace magva::results
