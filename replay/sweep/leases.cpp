#include "replay/sweep/leases.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>

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

int64_t ModifiedSeconds(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? info.st_mtim.tv_sec : 0;
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

bool Leases::OwnerLives(const std::string& path) const {
  const auto text = ReadWholeFile(path, kLongestFile);
  if (!text.ok()) return false;
  LeaseOwner owner;
  std::istringstream fields(text.value());
  fields >> owner.host >> owner.process >> owner.started;
  // One that was cut off is nobody's.
  if (!fields || owner == owner_) return false;
  if (owner.host == owner_.host) {
    const uint64_t started = StartOf(owner.process);
    return started != 0 && started == owner.started;
  }
  const std::string now = folder_ + "/" + kNow;
  if (!WriteFileAtomically(now, "", Over::kOwnInput).ok()) return true;
  return ModifiedSeconds(now) - ModifiedSeconds(path) < kLeaseSeconds;
}

Result<bool> Leases::Take(const std::string& name) {
  if (mine_.contains(name)) return true;
  const std::string path = PathOf(name);
  if (OwnerLives(path)) return false;
  STALLSCOPE_RETURN_IF_ERROR(WriteFileAtomically(path, TextOf(owner_), Over::kOwnInput));
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

bool Leases::IsTaken(const std::string& name) const {
  return !mine_.contains(name) && OwnerLives(PathOf(name));
}

bool Leases::AnyTaken() const {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder_, failed)) {
    if (entry.path().extension() == kSuffix && OwnerLives(entry.path())) return true;
  }
  return false;
}

void Leases::Refresh() {
  for (const std::string& name : mine_) Touch(PathOf(name));
}

}  // namespace stallscope::replay
