#include "replay/sweep/sweep_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include "analyzer/base/file.h"
#include "replay/sweep/sweep_json.h"

namespace stallscope::replay {
namespace {

constexpr uint64_t kLargestSweep = uint64_t{4} << 30;
constexpr useconds_t kLookEveryUs = 50'000;
// Rank 0 reads the trace first, as all of them do.
constexpr int kLooksForPlan = 20 * 120;

// Held while it lives. Of the open file, not of the process: two in one process exclude each other
// too, and a file server knows it.
class FileLock {
 public:
  static Result<FileLock> Take(const std::string& path) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) return Failed(path);
    FileLock lock(fd);
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    int done = 0;
    do {
      done = fcntl(fd, F_OFD_SETLKW, &whole);
    } while (done != 0 && errno == EINTR);
    if (done != 0) return Failed(path);
    return lock;
  }
  FileLock(FileLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock() {
    if (fd_ >= 0) close(fd_);
  }

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  static Error Failed(const std::string& path) {
    return {ErrorKind::kRun, std::string("cannot lock the sweep: ") + std::strerror(errno), path,
            "choose another folder for the sweep file"};
  }
  int fd_;
};

bool Exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

bool HasFigures(const Sweep& sweep) {
  for (size_t i = 0; i < Configurations(sweep); ++i) {
    const Point& point = ConfigurationAt(sweep, i);
    if (point.predicted || !point.unpriced.empty() || !point.runs.empty()) return true;
  }
  return false;
}

// What must not be written over without being asked.
Status MayReplace(const std::string& path) {
  const auto old = ReadSweepFile(path);
  if (!old.ok()) {
    return Error{ErrorKind::kUsage, "the file exists and is not a sweep", path,
                 "choose another -o, or remove it"};
  }
  if (IsComplete(old.value()) || !HasFigures(old.value())) return {};
  return Error{ErrorKind::kUsage, "the file has an unfinished sweep", path,
               "pass --resume to continue it, or remove it"};
}

// The same configuration has the same key.
std::string KeyOf(const Point& point) {
  std::string key = std::to_string(point.cores) + "\n";
  for (const Setting& setting : point.set) key += setting.path + "=" + setting.value + "\n";
  if (point.patch.has_value()) key += WritePatch(*point.patch, JsonLayout::kOneLine);
  return key;
}

void TakeFigures(const Point& old, Point& planned) {
  const std::string planned_error = planned.error;
  std::string name = planned.name;
  planned = old;
  planned.name = std::move(name);
  // One that makes no valid spec is an error whatever the file says.
  if (!planned_error.empty()) planned.error = planned_error;
}

const char* Difference(const Sweep& old, const Sweep& planned) {
  if (old.kind != planned.kind) return "of another kind";
  if (old.recorded_ns != planned.recorded_ns || old.spec_json != planned.spec_json) {
    return "of another run";
  }
  if (old.first_epoch != planned.first_epoch) return "of another part of its runs (--first-epoch)";
  return old.emulated != planned.emulated ? "run in another way (--emulate)" : nullptr;
}

// What --resume keeps of an earlier sweep: gives `planned` the figures that `old` has of its
// configurations. More repeats, another mode and further points may be planned; another run, kind
// or way to run is an error (kUsage), and so are points of `old` that are not planned any more:
// nothing that was measured is thrown away.
Status Adopt(const Sweep& old, Sweep& planned, const std::string& path) {
  const char* const difference = Difference(old, planned);
  if (difference != nullptr) {
    return Error{ErrorKind::kUsage, std::string("the sweep in the file is ") + difference, path,
                 "resume with the command that started it, or choose another -o"};
  }
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < Configurations(planned); ++i) {
    places.emplace(KeyOf(ConfigurationAt(planned, i)), i);
  }
  for (size_t i = 0; i < Configurations(old); ++i) {
    const Point& point = ConfigurationAt(old, i);
    const auto place = places.find(KeyOf(point));
    if (place != places.end()) {
      TakeFigures(point, ConfigurationAt(planned, place->second));
    } else if (i < old.points.size()) {
      return Error{ErrorKind::kUsage,
                   "the sweep in the file has a point that was not requested: " + NameOf(point),
                   path, "resume with the command that started it, or choose another -o"};
    }
  }
  planned.warnings = old.warnings;
  return {};
}

}  // namespace

Result<Sweep> ReadSweepFile(const std::string& path) {
  // It may have come with the trace: a pipe would be waited for.
  std::error_code failed;
  if (std::filesystem::exists(path, failed) && !std::filesystem::is_regular_file(path, failed)) {
    return Error{ErrorKind::kInput, "not a regular file", path, "name a sweep file"};
  }
  STALLSCOPE_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, kLargestSweep));
  STALLSCOPE_ASSIGN_OR_RETURN(SweepText read, ReadSweep(text, path));
  return std::move(read.sweep);
}

SweepFile::SweepFile(const SweepFileOptions& options)
    : options_(options), folder_(options.path + ".leases") {}

SweepFile::SweepFile(SweepFile&&) noexcept = default;

SweepFile::~SweepFile() {
  if (leases_ == nullptr) return;
  const auto lock = FileLock::Take(folder_ + "/" + kSweepLock);
  if (!lock.ok()) return;
  leases_->DropAll();
  leases_->RemoveFolder();
}

Result<SweepFile> SweepFile::Open(const SweepFileOptions& options, const Sweep& planned) {
  SweepFile file(options);
  std::error_code failed;
  std::filesystem::create_directory(file.folder_, failed);
  if (!failed && std::filesystem::is_symlink(file.folder_)) {
    failed = std::make_error_code(std::errc::not_a_directory);
  }
  if (failed) {
    return Error{ErrorKind::kRun, "cannot create the folder of the leases: " + failed.message(),
                 file.folder_, "choose another folder for the sweep file"};
  }
  file.leases_ = std::make_unique<Leases>(file.folder_, ThisProcess());
  {
    STALLSCOPE_ASSIGN_OR_RETURN(const FileLock lock,
                                FileLock::Take(file.folder_ + "/" + kSweepLock));
    // Shows the other processes that this one is at work.
    STALLSCOPE_ASSIGN_OR_RETURN(const bool alone,
                                file.leases_->Take("rank-" + std::to_string(options.job.rank)));
    if (!alone) {
      return Error{ErrorKind::kUsage, "another process is working on this sweep", options.path,
                   "wait for it, or choose another -o"};
    }
    if (options.job.rank == 0) STALLSCOPE_RETURN_IF_ERROR(file.Plan(planned));
  }
  if (options.job.rank != 0) STALLSCOPE_RETURN_IF_ERROR(file.AwaitPlan());
  return file;
}

Status SweepFile::Plan(Sweep planned) {
  planned.job = options_.job.id;
  if (Exists(options_.path)) {
    if (options_.resume) {
      STALLSCOPE_ASSIGN_OR_RETURN(const Sweep old, ReadSweepFile(options_.path));
      STALLSCOPE_RETURN_IF_ERROR(Adopt(old, planned, options_.path));
    } else {
      STALLSCOPE_RETURN_IF_ERROR(MayReplace(options_.path));
    }
  }
  return WriteFileAtomically(options_.path, WriteSweep(planned), Over::kOwnInput);
}

Status SweepFile::AwaitPlan() {
  for (int look = 0; look < kLooksForPlan; ++look) {
    if (Exists(options_.path)) {
      const auto sweep = ReadSweepFile(options_.path);
      if (sweep.ok() && sweep.value().job == options_.job.id) return {};
    }
    if (options_.stop_requested && options_.stop_requested()) break;
    usleep(kLookEveryUs);
  }
  return Error{ErrorKind::kRun, "rank 0 has not started the sweep", options_.path,
               "see the output of rank 0"};
}

Result<Sweep> SweepFile::Update(const std::function<bool(Sweep&, Leases&)>& change) {
  STALLSCOPE_ASSIGN_OR_RETURN(const FileLock lock, FileLock::Take(folder_ + "/" + kSweepLock));
  STALLSCOPE_ASSIGN_OR_RETURN(Sweep sweep, ReadSweepFile(options_.path));
  if (change(sweep, *leases_)) {
    STALLSCOPE_RETURN_IF_ERROR(
        WriteFileAtomically(options_.path, WriteSweep(sweep), Over::kOwnInput));
  }
  return sweep;
}

}  // namespace stallscope::replay
