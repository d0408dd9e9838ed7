#include "replay/sweep/leases.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <utility>
#include <vector>

#include "analyzer/base/file.h"
#include "analyzer/base/units.h"

namespace stallscope::replay {
namespace {

constexpr uint64_t kLongestFile = 65'536;
constexpr const char* kSuffix = ".lease";
// Touched to read the file system's clock.
constexpr const char* kNow = "now";

// Field 22 of /proc/<pid>/stat; 0 where there is no such process. The name before it is in
// brackets, and may hold anything.
uint64_t StartOf(int64_t process) {
  const auto stat = ReadWholeFile("/proc/" + std::to_string(process) + "/stat", kLongestFile);
  if (!stat.ok()) return 0;
  const size_t name_end = stat.value().rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(stat.value().substr(name_end + 1));
  std::string field;
  constexpr int kFieldsToStart = 20;
  for (int i = 0; i < kFieldsToStart; ++i) fields >> field;
  return std::strtoull(field.c_str(), nullptr, 10);
}

std::string TextOf(const LeaseOwner& owner) {
  return owner.host + " " + std::to_string(owner.process) + " " + std::to_string(owner.started) +
         "\n";
}

// Without a host where the text is no lease.
LeaseOwner OwnerIn(const std::string& text) {
  LeaseOwner owner;
  std::istringstream fields(text);
  fields >> owner.host >> owner.process >> owner.started;
  return fields ? owner : LeaseOwner{};
}

// As the sweep sees it: it cannot go on, whatever the user gave it was fine.
Error Unusable(Error error) {
  error.kind = ErrorKind::kRun;
  error.what = "cannot keep the sweep's leases: " + error.what;
  if (error.hint.empty()) error.hint = "remove it, or choose another folder for the sweep file";
  return error;
}

int64_t ModifiedSeconds(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? info.st_mtim.tv_sec : 0;
}

// A link or a pipe is none of ours: it may have come with the folder, and lead anywhere.
Result<bool> IsThere(const std::string& path) {
  struct stat about {};
  if (lstat(path.c_str(), &about) != 0) {
    if (errno == ENOENT) return false;
    return Unusable({ErrorKind::kRun, std::strerror(errno), path, ""});
  }
  if (!S_ISREG(about.st_mode)) {
    return Unusable({ErrorKind::kRun, "not a regular file", path, ""});
  }
  return true;
}

void Touch(const std::string& path) { utimensat(AT_FDCWD, path.c_str(), nullptr, 0); }

}  // namespace

LeaseOwner ThisProcess() {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host = {"unknown"};
  const auto process = static_cast<int64_t>(getpid());
  return {host.data(), process, StartOf(process)};
}

Leases::Leases(std::string folder, LeaseOwner owner)
    : folder_(std::move(folder)), owner_(std::move(owner)) {}

std::string Leases::PathOf(const std::string& name) const { return folder_ + "/" + name + kSuffix; }

Result<bool> Leases::OwnerLives(const std::string& path) const {
  STALLSCOPE_ASSIGN_OR_RETURN(const bool there, IsThere(path));
  if (!there) return false;
  auto text = ReadWholeFile(path, kLongestFile);
  if (!text.ok()) return Unusable(std::move(text).error());
  const LeaseOwner owner = OwnerIn(text.value());
  if (text.value().empty() || owner == owner_) return false;
  if (TextOf(owner) != text.value()) {
    return Unusable({ErrorKind::kRun, "not a lease of a sweep", path, ""});
  }
  if (owner.host == owner_.host) {
    const uint64_t started = StartOf(owner.process);
    return started != 0 && started == owner.started;
  }
  const std::string now = folder_ + "/" + kNow;
  STALLSCOPE_RETURN_IF_ERROR(IsThere(now));
  Status touched = WriteFileAtomically(now, "", Over::kOwnInput);
  if (!touched.ok()) return Unusable(std::move(touched).error());
  return ModifiedSeconds(now) - ModifiedSeconds(path) < kLeaseSeconds;
}

Result<bool> Leases::Take(const std::string& name) {
  if (mine_.contains(name)) return true;
  const std::string path = PathOf(name);
  STALLSCOPE_ASSIGN_OR_RETURN(const bool lives, OwnerLives(path));
  if (lives) return false;
  Status written = WriteFileAtomically(path, TextOf(owner_), Over::kOwnInput);
  if (!written.ok()) return Unusable(std::move(written).error());
  mine_.insert(name);
  return true;
}

void Leases::Drop(const std::string& name) {
  if (mine_.erase(name) == 0) return;
  std::error_code ignored;
  std::filesystem::remove(PathOf(name), ignored);
}

void Leases::DropAll() {
  while (!mine_.empty()) Drop(std::string(*mine_.begin()));
}

Result<bool> Leases::IsTaken(const std::string& name) const {
  if (mine_.contains(name)) return false;
  return OwnerLives(PathOf(name));
}

void Leases::RemoveFolder() const {
  std::vector<std::string> ours;
  std::error_code failed;
  for (std::filesystem::directory_iterator at(folder_, failed), end; !failed && at != end;
       at.increment(failed)) {
    const std::string path = at->path().string();
    const std::string name = at->path().filename().string();
    struct stat about {};
    if (lstat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
    if (!name.ends_with(kSuffix)) continue;
    const auto text = ReadWholeFile(path, kLongestFile);
    if (!text.ok() || TextOf(OwnerIn(text.value())) != text.value()) continue;
    const auto lives = OwnerLives(path);
    if (!lives.ok() || lives.value()) return;
    ours.push_back(path);
  }
  if (failed) return;
  // Last: asking whether an owner on another host lives has just touched one of them.
  for (const char* const name : {kNow, kSweepLock}) {
    const std::string path = folder_ + "/" + name;
    struct stat about {};
    if (lstat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) && about.st_size == 0) {
      ours.push_back(path);
    }
  }
  for (const std::string& path : ours) unlink(path.c_str());
  rmdir(folder_.c_str());
}

void Leases::Refresh() {
  for (const std::string& name : mine_) Touch(PathOf(name));
}

}  // namespace stallscope::replay
