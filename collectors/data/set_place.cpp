#include "collectors/data/set_place.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "analyzer/base/file.h"
#include "analyzer/base/folders.h"
#include "collectors/data/manifest.h"
#include "collectors/data/set_writer.h"

namespace stallscope::data {
namespace {

namespace fs = std::filesystem;

// In the scratch folder.
constexpr const char* kNewSet = "/set";
constexpr const char* kOldFolder = "/old";   // what stood in the place, as one
constexpr const char* kOldFiles = "/files";  // what lay in the place
constexpr const char* kPlan = "/plan";       // the new set's source and form, if it can be resumed
constexpr uint64_t kMaxPlanBytes = 1 << 16;

Error FolderError(const std::string& folder, int error) {
  return Error{ErrorKind::kRun, std::string("cannot use the folder: ") + std::strerror(error),
               folder, "check the path, its permissions and the free space"};
}

Error NotOurs(const std::string& folder, const std::string& name) {
  return Error{ErrorKind::kUsage,
               "the folder holds '" + name + "', which is not part of a data set", folder,
               "name an empty folder, or one that does not exist yet"};
}

// Folders that were made on the way, and go again unless the set comes into them.
class MadeFolders {
 public:
  MadeFolders() = default;
  MadeFolders(const MadeFolders&) = delete;
  MadeFolders& operator=(const MadeFolders&) = delete;
  // rmdir: what others have put there meanwhile stays, and so does its folder.
  ~MadeFolders() {
    while (!made_.empty()) {
      rmdir(made_.back().c_str());
      made_.pop_back();
    }
  }

  // `folder` and those above it. False: errno says why.
  bool Make(const fs::path& folder) {
    struct stat about {};
    if (stat(folder.c_str(), &about) == 0) {
      if (S_ISDIR(about.st_mode)) return true;
      errno = ENOTDIR;
      return false;
    }
    if (errno != ENOENT || folder == folder.parent_path() || !Make(folder.parent_path())) {
      return false;
    }
    if (mkdir(folder.c_str(), 0777) == 0) {
      made_.push_back(folder.string());
      return true;
    }
    return errno == EEXIST;
  }
  void Keep() { made_.clear(); }

 private:
  std::vector<std::string> made_;
};

// The names and sizes of the files that the folder's manifest lists.
std::map<std::string, uint64_t> ListedFiles(const std::string& folder) {
  std::map<std::string, uint64_t> listed;
  struct stat about {};
  const std::string path = folder + "/" + std::string(kManifestFile);
  if (lstat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return listed;
  const auto manifest = ReadManifest(folder);
  if (!manifest.ok()) return listed;
  listed.emplace(kManifestFile, static_cast<uint64_t>(about.st_size));
  for (const ManifestFile& file : manifest.value().files) {
    if (IsFileOfSet(file.name)) listed.emplace(file.name, file.bytes);
  }
  return listed;
}

// Whether there is nothing but a data set of ours, or nothing. Links are not followed. `except` is
// a name in the folder that does not count.
Status CheckContent(const std::string& folder, const std::string& except = "") {
  const std::map<std::string, uint64_t> listed = ListedFiles(folder);
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().lexically_relative(folder).string();
    if (name == except) {
      at.disable_recursion_pending();
      continue;
    }
    struct stat about {};
    if (lstat(at->path().c_str(), &about) != 0) return FolderError(folder, errno);
    const bool folder_of_set = S_ISDIR(about.st_mode) && !listed.empty() && IsClassFolder(name);
    const auto file = S_ISREG(about.st_mode) ? listed.find(name) : listed.end();
    const bool file_of_set =
        file != listed.end() && file->second == static_cast<uint64_t>(about.st_size);
    if (!folder_of_set && !file_of_set) return NotOurs(folder, name);
  }
  if (error) return FolderError(folder, error.value());
  return {};
}

// Whether another folder cannot take this one's place.
bool MustStay(const std::string& folder) {
  struct stat here {};
  struct stat current {};
  if (stat(folder.c_str(), &here) == 0 && stat(".", &current) == 0 &&
      here.st_dev == current.st_dev && here.st_ino == current.st_ino) {
    return true;
  }
  struct statx about {};
  if (statx(AT_FDCWD, folder.c_str(), 0, STATX_TYPE, &about) == 0 &&
      (about.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0) {
    return true;
  }
  return access(fs::path(folder).parent_path().c_str(), W_OK | X_OK) != 0;
}

using Moves = std::vector<std::pair<std::string, std::string>>;

// Of everything in `from` that is `wanted` (empty: all), the manifest last. The errno, or 0.
int PlanMoves(const std::string& from, const std::string& to,
              const std::function<bool(const std::string& name)>& wanted, Moves& moves) {
  const auto begin = static_cast<std::ptrdiff_t>(moves.size());
  std::error_code error;
  for (fs::directory_iterator at(from, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!wanted || wanted(name)) moves.emplace_back(from + "/" + name, to + "/" + name);
  }
  std::partition(moves.begin() + begin, moves.end(),
                 [](const auto& move) { return !move.first.ends_with(kManifestFile); });
  return error.value();
}

bool TakeModeAndOwner(const std::string& from, const std::string& to) {
  struct stat wanted {};
  struct stat now {};
  if (stat(from.c_str(), &wanted) != 0 || stat(to.c_str(), &now) != 0) return false;
  const bool other_owner = wanted.st_uid != now.st_uid || wanted.st_gid != now.st_gid;
  return (!other_owner || lchown(to.c_str(), wanted.st_uid, wanted.st_gid) == 0) &&
         chmod(to.c_str(), wanted.st_mode & 07777) == 0;
}

}  // namespace

int FolderOps::Exchange(const char* one, const char* other) {
  return renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE);
}
int FolderOps::Rename(const char* from, const char* to) { return std::rename(from, to); }

FolderOps& FolderOps::Kernel() {
  static FolderOps kernel;
  return kernel;
}

struct SetPlace::Parts {
  FolderOps* ops = nullptr;
  std::string named;  // as the user named it
  std::string real;   // behind links
  bool must_stay = false;
  MadeFolders above;  // goes after the scratch folder, which may lie in it
  std::string plan;   // of Resume(); empty: leftovers are not wanted
  std::optional<ScratchFolder> scratch;
  bool keeps = false;  // keeps the scratch folder for the next Resume()
  std::string work;
  std::string old;  // in the scratch folder: what stood in the place

  Status Find();
  Status FindNew();
  Status Restore();
  void AdoptPartial();
  Status MakeScratch();
  Status RestoreFrom(ScratchFolder& left);
  Status MoveBack(ScratchFolder& left, const std::string& old_files);
  Status Replace();
  Status ReplaceByTwo();
  Status Fill();
  std::string ScratchName() const {
    return must_stay && scratch.has_value() ? fs::path(scratch->path()).filename().string() : "";
  }
  std::string Beside() const { return fs::path(real).parent_path().string(); }
  // Of this place, and not its path: what stays beside it or in it moves with it.
  std::string Note(bool inside) const { return inside ? "." : fs::path(real).filename().string(); }
  std::string PartialNote(bool inside) const { return "partial " + Note(inside); }
  // For what could not be brought back: the scratch folder stays.
  Error Stranded(ScratchFolder& left, const std::string& where, int error) const {
    left.Keep();
    Error stranded = FolderError(named, error);
    stranded.hint = "the earlier data set is now in " + where;
    return stranded;
  }
};

// What a process that was killed in ReplaceByTwo() or Fill() has left of the older set.
Status SetPlace::Parts::Restore() {
  for (const bool inside : {true, false}) {
    for (ScratchFolder& left : ScratchFolder::AdoptIn(inside ? real : Beside(), Note(inside))) {
      STALLSCOPE_RETURN_IF_ERROR(RestoreFrom(left));
    }
  }
  AdoptPartial();
  return {};
}

// Adopts the leftover of a stopped process with the same plan, and removes the others.
void SetPlace::Parts::AdoptPartial() {
  for (const bool inside : {true, false}) {
    for (ScratchFolder& left :
         ScratchFolder::AdoptIn(inside ? real : Beside(), PartialNote(inside))) {
      const auto theirs = ReadWholeFile(left.path() + kPlan, kMaxPlanBytes);
      const bool wanted = !plan.empty() && theirs.ok() && theirs.value() == plan;
      if (wanted && !scratch.has_value()) scratch.emplace(std::move(left));
    }
  }
}

Status SetPlace::Parts::MakeScratch() {
  if (!scratch.has_value()) {
    const std::string beside = Beside();
    // A killed run may have used the other kind of scratch folder.
    ScratchFolder::RemoveLeftOversIn(beside);
    auto made = ScratchFolder::MakeIn(must_stay ? real : beside);
    if (!made.ok()) {
      Error error = std::move(made).error();
      error.where = named;
      return error;
    }
    scratch.emplace(std::move(made).value());
    // With the mode that any new folder gets: the scratch folder keeps others out until it is done.
    if (mkdir((scratch->path() + kNewSet).c_str(), 0777) != 0) return FolderError(named, errno);
    if (!plan.empty()) {
      STALLSCOPE_RETURN_IF_ERROR(WriteFileAtomically(scratch->path() + kPlan, plan));
      if (!scratch->Guard(PartialNote(must_stay))) return FolderError(named, errno);
    }
  }
  work = scratch->path() + kNewSet;
  keeps = !plan.empty();
  return {};
}

Status SetPlace::Parts::RestoreFrom(ScratchFolder& left) {
  std::error_code error;
  const std::string set = left.path() + kNewSet;
  // It was only the clearing up that is missing.
  if (!fs::exists(set, error) || fs::is_empty(set, error)) return {};
  const std::string whole = left.path() + kOldFolder;
  if (!fs::exists(whole, error)) return MoveBack(left, left.path() + kOldFiles);
  if (fs::exists(real, error)) {
    // Another set is there by now. Both stay.
    left.Keep();
    return {};
  }
  if (ops->Rename(whole.c_str(), real.c_str()) != 0) return Stranded(left, whole, errno);
  return {};
}

// The new set's manifest is the last of all to come, so one that is there is the older set's, and
// so is every file beside it. Without one, the new set's files go first. The older set's manifest
// is the first of its files to come back: who is killed here too finds what it says.
Status SetPlace::Parts::MoveBack(ScratchFolder& left, const std::string& old_files) {
  std::error_code error;
  const std::string set = left.path() + kNewSet;
  Moves moves;
  if (!fs::exists(real + "/" + std::string(kManifestFile), error)) {
    std::set<std::string> of_new_set;
    for (const auto& [name, bytes] : ListedFiles(set)) {
      of_new_set.insert(name.substr(0, name.find('/')));
    }
    PlanMoves(
        real, set, [&](const std::string& name) { return of_new_set.contains(name); }, moves);
  }
  const auto begin = static_cast<std::ptrdiff_t>(moves.size());
  if (const int failed = PlanMoves(old_files, real, {}, moves); failed != 0 && failed != ENOENT) {
    return Stranded(left, old_files, failed);
  }
  std::reverse(moves.begin() + begin, moves.end());
  for (const auto& [from, to] : moves) {
    if (ops->Rename(from.c_str(), to.c_str()) != 0) return Stranded(left, old_files, errno);
  }
  return {};
}

Status SetPlace::Parts::FindNew() {
  std::error_code error;
  fs::path path = fs::absolute(named, error).lexically_normal();
  if (error) return FolderError(named, error.value());
  if (!path.has_filename()) path = path.parent_path();
  if (!above.Make(path.parent_path())) return FolderError(named, errno);
  const fs::path parent = fs::canonical(path.parent_path(), error);
  if (error) return FolderError(named, error.value());
  real = (parent / path.filename()).string();
  return {};
}

Status SetPlace::Parts::Find() {
  if (named.empty()) return Error{ErrorKind::kUsage, "no folder is named", "", "name a folder"};
  struct stat about {};
  if (stat(named.c_str(), &about) != 0) {
    if (errno != ENOENT) return FolderError(named, errno);
    if (lstat(named.c_str(), &about) == 0) {
      return Error{ErrorKind::kUsage, "the link is broken", named,
                   "remove the link, or name another folder"};
    }
    STALLSCOPE_RETURN_IF_ERROR(FindNew());
    STALLSCOPE_RETURN_IF_ERROR(Restore());
    if (stat(named.c_str(), &about) != 0) return {};
  }
  if (!S_ISDIR(about.st_mode)) {
    return Error{ErrorKind::kUsage, "is a file, not a folder", named, "name a folder"};
  }
  std::error_code error;
  real = fs::canonical(named, error).string();
  if (error) return FolderError(named, error.value());
  must_stay = MustStay(real);
  STALLSCOPE_RETURN_IF_ERROR(Restore());
  ScratchFolder::RemoveLeftOversIn(real);
  Status ours = CheckContent(real, ScratchName());
  if (!ours.ok()) {
    Error error_here = std::move(ours).error();
    error_here.where = named;
    return error_here;
  }
  return {};
}

SetPlace::SetPlace(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
SetPlace::SetPlace(SetPlace&&) noexcept = default;

SetPlace::~SetPlace() {
  if (parts_ == nullptr || !parts_->keeps) return;
  parts_->scratch->Keep();
  parts_->above.Keep();
}

Result<SetPlace> SetPlace::Open(const std::string& folder, FolderOps& ops) {
  return Resume(folder, "", ops);
}

Result<SetPlace> SetPlace::Resume(const std::string& folder, const std::string& plan,
                                  FolderOps& ops) {
  auto parts = std::make_unique<Parts>();
  parts->ops = &ops;
  parts->named = folder;
  parts->plan = plan;
  STALLSCOPE_RETURN_IF_ERROR(parts->Find());
  STALLSCOPE_RETURN_IF_ERROR(parts->MakeScratch());
  return SetPlace(std::move(parts));
}

void SetPlace::Discard() { parts_->keeps = false; }

const std::string& SetPlace::work() const { return parts_->work; }

Error SetPlace::Renamed(Error error) const {
  const size_t at = error.where.find(parts_->work);
  if (at != std::string::npos) error.where.replace(at, parts_->work.size(), parts_->named);
  return error;
}

Status SetPlace::Publish() {
  // An empty folder that has appeared meanwhile is replaced too, by the kernel.
  const bool new_place = access(parts_->real.c_str(), F_OK) != 0;
  Status done;
  if (new_place && parts_->ops->Rename(parts_->work.c_str(), parts_->real.c_str()) != 0) {
    done = errno == ENOTEMPTY || errno == EEXIST ? parts_->Replace()
                                                 : Status(FolderError(parts_->named, errno));
  } else if (!new_place) {
    done = parts_->must_stay ? parts_->Fill() : parts_->Replace();
  }
  if (done.ok()) {
    parts_->above.Keep();
    parts_->keeps = false;
  } else if (parts_->keeps) {
    // Restores its note, which was different while the folders were exchanged.
    const bool inside = fs::path(parts_->scratch->path()).parent_path() == parts_->real;
    if (!parts_->scratch->path().empty()) parts_->scratch->Guard(parts_->PartialNote(inside));
  }
  if (done.ok() || done.error().where != parts_->real) return done;
  Error error = std::move(done).error();
  error.where = parts_->named;
  return error;
}

Status SetPlace::Parts::Replace() {
  // Before the exchange, because nothing should be moved in vain, and after it, because only then
  // can nobody put anything into it by its name any more.
  STALLSCOPE_RETURN_IF_ERROR(CheckContent(real, ScratchName()));
  if (!TakeModeAndOwner(real, work)) return Fill();
  if (ops->Exchange(work.c_str(), real.c_str()) != 0) {
    if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP) return ReplaceByTwo();
    return errno == EBUSY || errno == EXDEV ? Fill() : Status(FolderError(named, errno));
  }
  Status ours = CheckContent(work);
  if (ours.ok()) return ours;
  if (ops->Exchange(work.c_str(), real.c_str()) != 0) {
    return Stranded(*scratch, work, errno);
  }
  Error error = std::move(ours).error();
  error.where = named;
  return error;
}

// Where two folders cannot be exchanged there is a moment without one.
Status SetPlace::Parts::ReplaceByTwo() {
  old = scratch->path() + kOldFolder;
  if (!scratch->Guard(Note(false))) return FolderError(named, errno);
  if (ops->Rename(real.c_str(), old.c_str()) != 0) {
    return errno == EBUSY || errno == EXDEV ? Fill() : Status(FolderError(named, errno));
  }
  Status done = CheckContent(old);
  if (done.ok() && ops->Rename(work.c_str(), real.c_str()) != 0) done = FolderError(named, errno);
  if (done.ok()) return done;
  if (ops->Rename(old.c_str(), real.c_str()) != 0) return Stranded(*scratch, old, errno);
  Error error = std::move(done).error();
  error.where = named;
  return error;
}

// The folder stays, what is in it goes and comes. The manifest comes last: without it there is no
// set.
Status SetPlace::Parts::Fill() {
  const std::string scratch_name = ScratchName();
  STALLSCOPE_RETURN_IF_ERROR(CheckContent(real, scratch_name));
  old = scratch->path() + kOldFiles;
  if (!scratch->Guard(Note(must_stay)) || mkdir(old.c_str(), S_IRWXU) != 0) {
    return FolderError(named, errno);
  }
  Moves moves;
  int failed = PlanMoves(
      real, old, [&](const std::string& name) { return name != scratch_name; }, moves);
  if (failed == 0) failed = PlanMoves(work, real, {}, moves);
  if (failed != 0) return FolderError(named, failed);
  size_t done = 0;
  while (done < moves.size() &&
         ops->Rename(moves[done].first.c_str(), moves[done].second.c_str()) == 0) {
    ++done;
  }
  if (done == moves.size()) return {};
  failed = errno;
  while (done-- > 0) {
    if (ops->Rename(moves[done].second.c_str(), moves[done].first.c_str()) != 0) {
      return Stranded(*scratch, old, errno);
    }
  }
  return FolderError(named, failed);
}

}  // namespace stallscope::data
