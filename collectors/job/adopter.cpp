#include "collectors/job/adopter.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <string_view>
#include <utility>

#include "analyzer/base/units.h"

namespace stallscope::job {
namespace {

int64_t WallNs(const timespec& time) { return int64_t{time.tv_sec} * kNsPerSecond + time.tv_nsec; }

}  // namespace

Adopter::Adopter(recorder::Recorder& recorder, JobNames& names, JobSampler& sampler, int folder)
    : recorder_(recorder), names_(names), sampler_(sampler), folder_(folder) {}

// Times of files move in ticks of some milliseconds: what has changed lately may change again
// without a trace.
bool Adopter::Changed() {
  constexpr int64_t kLately = 100 * kNsPerMs;
  struct stat about {};
  if (fstat(folder_, &about) != 0) return again_;
  const int64_t changed_ns = WallNs(about.st_mtim);
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const int64_t age = WallNs(now) - changed_ns;
  const bool same = changed_ns == std::exchange(changed_ns_, changed_ns);
  return !same || again_ || (age > -kLately && age < kLately);
}

void Adopter::Look() {
  if (!Changed()) return;
  again_ = false;
  // A descriptor of its own: two of one folder share its place.
  const int fd = openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const listing = fd < 0 ? nullptr : fdopendir(fd);
  if (listing == nullptr) {
    if (fd >= 0) close(fd);
    again_ = true;
    return;
  }
  std::set<std::string> there;
  while (const dirent* const entry = readdir(listing)) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with('.') && name.ends_with(".ring")) there.emplace(name);
    if (!name.starts_with('.') && name.ends_with(".names") &&
        names_files_.insert(std::string(name)).second) {
      std::string_view rest = name;
      const auto key = recorder::TakeProcessKey(rest);
      if (key && rest == "names") names_.ProcessOf(*key)->CatchUp();
    }
  }
  closedir(listing);
  std::erase_if(adopted_, [&](const auto& ring) { return !there.contains(ring.first); });
  for (const std::string& name : there) {
    if (!adopted_.contains(name) && !strangers_.contains(name)) Adopt(name);
  }
}

void Adopter::Adopt(const std::string& name) {
  auto opened = recorder::AdoptedRing::Open(folder_, name);
  if (!opened.ok()) {
    if (opened.error().kind == ErrorKind::kRun) {
      again_ = true;
    } else {
      strangers_.insert(name);
    }
    return;
  }
  const recorder::RingOwner owner = opened.value()->owner();
  const std::shared_ptr<JobProcess> process = names_.ProcessOf(owner.process);
  const TrackId track = process->TrackOf(owner);
  sampler_.Follow(*process, owner.tid);
  adopted_[name] = {owner.process, recorder_.Adopt(std::move(opened).value(), track, process)};
  ++rings_;
}

void Adopter::Release(const recorder::ProcessKey& process) {
  for (auto& [name, ring] : adopted_) {
    if (ring.process == process) ring.held.reset();
  }
}

void Adopter::ReleaseAll() {
  for (auto& [name, ring] : adopted_) ring.held.reset();
}

}  // namespace stallscope::job
