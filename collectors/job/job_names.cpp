#include "collectors/job/job_names.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "analyzer/base/clock.h"
#include "analyzer/trace/limits.h"
#include "collectors/job/mask.h"
#include "collectors/job/names_line.h"

namespace stallscope::job {
namespace {

using Json = nlohmann::json;

constexpr size_t kLongestLine = size_t{64} << 10;
constexpr uint64_t kLongestFile = uint64_t{256} << 20;
constexpr size_t kReadAtOnce = size_t{64} << 10;
constexpr size_t kMostSaid = 64;
constexpr size_t kMostFrameworks = 16;
constexpr size_t kLongestSentence = 500;
constexpr size_t kMostProfiles = 64;
constexpr size_t kMostProbes = 4096;

// Makes room for number `id` of a process.
template <class Id>
bool SetId(std::vector<Id>& map, uint64_t id, size_t limit, Id ours) {
  if (id >= limit) return false;
  if (id >= map.size()) map.resize(id + 1);
  map[id] = ours;
  return true;
}

template <class Id>
Id IdIn(const std::vector<Id>& map, std::optional<uint64_t> id) {
  return id && *id < map.size() ? map[*id] : Id::None();
}

// Defines it, or again with what has become known of it.
template <class Info>
auto Defined(recorder::DefinitionTable& table, Info& info) {
  if (info.id.known()) {
    table.Redefine(info);
  } else {
    info.id = table.Define(info);
  }
  return info.id;
}

}  // namespace

// --- A process -----------------------------------------------------------------------------------

JobProcess::JobProcess(JobNames& names, recorder::ProcessKey key, trace::ProcessInfo info)
    : names_(names), key_(key), info_(std::move(info)) {}

const recorder::IdMap& JobProcess::CatchUp() {
  const std::lock_guard lock(names_.mutex_);
  ReadMore();
  return ids_;
}

const recorder::IdMap& JobProcess::CatchUpWith(std::string_view bytes) {
  const std::lock_guard lock(names_.mutex_);
  TakeBytes(bytes);
  return ids_;
}

// Lines, of which the last one may have no end yet.
void JobProcess::TakeBytes(std::string_view fresh) {
  for (size_t end = fresh.find('\n'); end != std::string_view::npos; end = fresh.find('\n')) {
    rest_ += fresh.substr(0, end);
    if (skipping_ || rest_.size() > kLongestLine || !names_.Take(*this, rest_)) {
      ++names_.bad_lines_;
    }
    skipping_ = false;
    rest_.clear();
    fresh.remove_prefix(end + 1);
  }
  skipping_ = skipping_ || rest_.size() + fresh.size() > kLongestLine;
  if (skipping_) {
    rest_.clear();
  } else {
    rest_ += fresh;
  }
}

void JobProcess::ReadMore() {
  const std::string name = recorder::NamesFileOf(key_);
  // Mostly nothing is new: every drain of a ring asks.
  struct stat about {};
  if (fstatat(names_.folder_, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 &&
      static_cast<uint64_t>(about.st_size) == offset_) {
    return;
  }
  const int fd =
      openat(names_.folder_, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return;
  std::string bytes(kReadAtOnce, '\0');
  while (offset_ < kLongestFile) {
    const ssize_t got = pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset_));
    if (got <= 0) break;
    offset_ += static_cast<uint64_t>(got);
    TakeBytes({bytes.data(), static_cast<size_t>(got)});
  }
  close(fd);
}

void JobProcess::NameTrack(uint64_t id, trace::TrackInfo info) {
  if (id >= tracks_.size()) tracks_.resize(id + 1);
  info.process = id_;
  info.id = tracks_[id].id;
  const auto nameless = nameless_.find(info.thread);
  if (!info.id.known() && nameless != nameless_.end()) {
    info.id = nameless->second.id;
    nameless_.erase(nameless);
  }
  SetId(ids_.tracks, id, trace::kMaxTracks, Defined(names_.table_, info));
  tracks_[id] = std::move(info);
}

TrackId JobProcess::TrackOf(const recorder::RingOwner& ring) {
  const std::lock_guard lock(names_.mutex_);
  ReadMore();
  if (ring.track_plus_1 != 0) {
    return ring.track_plus_1 > tracks_.size() ? TrackId::None() : tracks_[ring.track_plus_1 - 1].id;
  }
  // The last one: a thread's number comes again.
  const auto named = std::find_if(tracks_.rbegin(), tracks_.rend(),
                                  [&](const auto& track) { return track.thread == ring.tid; });
  if (named != tracks_.rend()) return named->id;
  trace::TrackInfo& info = nameless_[ring.tid];
  if (!info.id.known()) {
    info.thread = ring.tid;
    info.process = id_;
    info.name =
        ring.tid == key_.pid ? info_.name : info_.name + ", thread " + std::to_string(ring.tid);
    info.id = names_.table_.Define(info);
  }
  return info.id;
}

bool JobProcess::has_native_loader() const {
  const std::lock_guard lock(names_.mutex_);
  return has_native_loader_;
}

void JobProcess::End(int64_t at_ns) {
  const std::lock_guard lock(names_.mutex_);
  info_.end_ns = at_ns;
  names_.table_.Redefine(info_);
}

// --- All processes -------------------------------------------------------------------------------

JobNames::JobNames(recorder::DefinitionTable& table, int folder) : table_(table), folder_(folder) {}

std::shared_ptr<JobProcess> JobNames::ProcessOf(const recorder::ProcessKey& key,
                                                const trace::ProcessInfo& info) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<JobProcess>& process = processes_[key];
  if (process == nullptr) {
    process.reset(new JobProcess(*this, key, info));
    process->info_.pid = key.pid;
    process->info_.arguments = Masked(std::move(process->info_.arguments));
    if (process->info_.start_ns == 0) process->info_.start_ns = MonotonicNs();
    process->id_ = process->info_.id = table_.Define(process->info_);
    process->ReadMore();
  }
  return process;
}

std::vector<std::shared_ptr<JobProcess>> JobNames::processes() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<JobProcess>> all;
  for (const auto& [key, process] : processes_) all.push_back(process);
  return all;
}

uint64_t JobNames::bad_lines() const {
  const std::lock_guard lock(mutex_);
  return bad_lines_;
}
bool JobNames::ended_by_steps() const {
  const std::lock_guard lock(mutex_);
  return ended_by_steps_;
}

std::vector<LoaderDigest> JobNames::digests() const {
  const std::lock_guard lock(mutex_);
  std::vector<LoaderDigest> all;
  for (const auto& [key, digest] : digests_) all.push_back(digest);
  return all;
}

std::vector<JobProfile> JobNames::profiles() const {
  const std::lock_guard lock(mutex_);
  std::vector<JobProfile> all = profiles_;
  std::stable_sort(all.begin(), all.end(),
                   [](const JobProfile& a, const JobProfile& b) { return a.from_ns < b.from_ns; });
  return all;
}

std::vector<trace::Probe> JobNames::probes() const {
  const std::lock_guard lock(mutex_);
  std::vector<trace::Probe> all;
  for (const auto& [time, stage] : probes_) {
    trace::Probe window;
    const auto paid = paid_.find(time);
    // A stage without any batch worth a delay was not slowed.
    if (stage.known() && paid != paid_.end()) {
      window = paid->second;
      window.stage = stage;
    }
    window.start_ns = time.first;
    window.end_ns = time.second;
    all.push_back(window);
  }
  return all;
}

bool JobNames::Take(JobProcess& process, std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || json.size() != 1) return false;
  const std::string& kind = json.begin().key();
  const NamesLine line(json.begin().value());
  if (kind == "process") return TakeProcess(process, line);
  if (kind == "loader") return TakeLoader(process, line);
  if (kind == "queue") return TakeQueue(process, line);
  if (kind == "stage") return TakeStage(process, line);
  if (kind == "string") return TakeString(process, line);
  if (kind == "op") return TakeOp(process, line);
  if (kind == "lines") return TakeLines(line);
  if (kind == "counter") return TakeCounter(process, line);
  if (kind == "track") return TakeTrack(process, line);
  if (kind == "framework") return TakeFramework(line);
  if (kind == "digest") return TakeDigest(process, line);
  if (kind == "profile") return TakeProfile(process, line);
  if (kind == "probe") return TakeProbe(process, line);
  if (kind == "slowed") return TakeSlowed(line);
  if (kind == "said") return line.json().is_string() && TakeSaid(line.json().get<std::string>());
  if (kind == "ended") {
    ended_by_steps_ = line.json().is_object();
    return ended_by_steps_;
  }
  return true;  // of a later version
}

bool JobNames::TakeProcess(JobProcess& process, const NamesLine& line) {
  if (line.Number("pid") != process.key_.pid) return false;
  trace::ProcessInfo& info = process.info_;
  info.parent = line.Number("parent").value_or(info.parent);
  if (const std::string name = line.Text("name"); !name.empty()) info.name = name;
  if (const auto rank = line.Number("rank"); rank && *rank < UINT32_MAX) {
    info.rank = static_cast<uint32_t>(*rank);
  }
  if (const auto ranks = line.Number("ranks_of_host"); ranks && *ranks < UINT32_MAX) {
    info.ranks_of_host = static_cast<uint32_t>(*ranks);
  }
  if (line.List("argv") != nullptr) info.arguments = Masked(line.Texts("argv", SIZE_MAX));
  table_.Redefine(info);
  const std::string python = line.Text("python");
  if (python.empty()) return true;
  table_.UpdateRun([&](trace::RunInfo& run) {
    if (run.job.python.empty()) run.job.python = python;
  });
  return true;
}

bool JobNames::TakeLoader(JobProcess& process, const NamesLine& line) {
  const auto id = line.Number("id");
  if (!id || *id >= trace::kMaxLoaders) return false;
  recorder::ProcessKey owner = process.key_;
  uint64_t number = *id;
  if (line.Member("owner") != nullptr) {
    const std::string key = line.Text("owner") + ".";
    std::string_view rest = key;
    const auto named = recorder::TakeProcessKey(rest);
    if (!named || !rest.empty()) return false;
    owner = *named;
    number = line.Number("number").value_or(0);
  }
  const auto known = loaders_.find({owner, number});
  if (known == loaders_.end() && loaders_.size() >= trace::kMaxLoaders) return false;
  trace::LoaderInfo& loader = loaders_[{owner, number}];
  const auto take = [](std::string from, std::string& to) {
    if (!from.empty()) to = std::move(from);
  };
  take(line.Text("kind"), loader.kind);
  take(line.Text("dataset"), loader.dataset);
  if (const Json* const where = line.Member("where")) {
    const NamesLine place(*where);
    take(place.Text("file"), loader.file);
    if (const uint32_t at = place.Number32("line"); at != 0) loader.line = at;
    if (const Json* const call = place.Member("call"); call != nullptr && call->is_object()) {
      loader.call = NamesLine(*call).Call(loader.line);
    }
  }
  if (const Json* const settings = line.Member("settings"); settings && settings->is_object()) {
    std::string text = settings->dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() <= trace::kMaxNameBytes) loader.settings_json = std::move(text);
  }
  if (owner == process.key_) loader.process = process.id_;
  return SetId(process.ids_.loaders, *id, trace::kMaxLoaders, Defined(table_, loader));
}

bool JobNames::TakeQueue(JobProcess& process, const NamesLine& line) {
  const auto id = line.Number("id");
  const std::string name = line.Text("name");
  if (!id || name.empty()) return false;
  const LoaderId loader = IdIn(process.ids_.loaders, line.Number("loader"));
  if (!queues_.contains({loader, name}) && queues_.size() >= trace::kMaxQueues) return false;
  trace::QueueInfo& queue = queues_[{loader, name}];
  queue.name = name;
  queue.capacity = std::max(queue.capacity, line.Number("capacity").value_or(0));
  queue.lock = queue.lock || line.Flag("lock");
  return SetId(process.ids_.queues, *id, trace::kMaxQueues, Defined(table_, queue));
}

bool JobNames::TakeStage(JobProcess& process, const NamesLine& line) {
  const auto id = line.Number("id");
  const std::string name = line.Text("name");
  if (!id || name.empty()) return false;
  const LoaderId loader = IdIn(process.ids_.loaders, line.Number("loader"));
  if (!stages_.contains({loader, name}) && stages_.size() >= trace::kMaxStages) return false;
  trace::StageInfo& stage = stages_[{loader, name}];
  stage.name = name;
  stage.loader = loader;
  if (const std::string kind = line.Text("kind"); !kind.empty()) stage.kind = kind;
  process.has_native_loader_ = process.has_native_loader_ || stage.kind == trace::kUnseenPipeline;
  stage.workers = std::max(stage.workers, line.Number32("workers"));
  stage.ordered = stage.ordered || line.Flag("ordered");
  if (const QueueId queue = IdIn(process.ids_.queues, line.Number("queue")); queue.known()) {
    stage.queue = queue;
  }
  if (const Json* const inputs = line.List("inputs")) {
    std::vector<StageId> known;
    for (const Json& input : *inputs) {
      if (!input.is_number_unsigned()) continue;
      const StageId from = IdIn(process.ids_.stages, input.get<uint64_t>());
      if (from.known() && from != stage.id) known.push_back(from);
    }
    if (!known.empty()) stage.inputs = std::move(known);
  }
  return SetId(process.ids_.stages, *id, trace::kMaxStages, Defined(table_, stage));
}

bool JobNames::TakeString(JobProcess& process, const NamesLine& line) {
  const auto id = line.Number("id");
  const Json* const text = line.Member("text");
  if (!id || *id >= trace::kMaxStrings || text == nullptr || !text->is_string()) return false;
  return SetId(process.ids_.strings, *id, trace::kMaxStrings, table_.Define(line.Text("text")));
}

bool JobNames::TakeOp(JobProcess& process, const NamesLine& line) {
  const auto id = line.Number("id");
  const trace::OpInfo op{line.Text("name"), line.Text("file"), line.Number32("line")};
  if (!id || *id >= trace::kMaxStrings || op.name.empty()) return false;
  return SetId(process.ids_.strings, *id, trace::kMaxStrings, table_.Define(op));
}

bool JobNames::TakeLines(const NamesLine& line) {
  const std::optional<trace::CodeLines> code = line.Code();
  if (code) table_.Add(*code);
  return code.has_value();
}

bool JobNames::TakeCounter(JobProcess& process, const NamesLine& line) {
  const auto id = line.Number("id");
  const std::string name = line.Text("name");
  if (!id || *id >= trace::kMaxCounters || name.empty()) return false;
  const CounterId known = IdIn(process.ids_.counters, id);
  if (known.known()) return true;
  return SetId(process.ids_.counters, *id, trace::kMaxCounters,
               table_.Define(trace::CounterInfo{{}, name, line.Text("unit"), process.id_}));
}

bool JobNames::TakeTrack(JobProcess& process, const NamesLine& line) {
  const auto id = line.Number("id");
  if (!id || *id >= trace::kMaxTracks) return false;
  trace::TrackInfo info;
  info.name = line.Text("name");
  if (info.name.empty()) info.name = process.info_.name;
  info.thread = line.Number("tid").value_or(0);
  info.stage = IdIn(process.ids_.stages, line.Number("stage"));
  info.device = line.Number32("device");
  const uint32_t kind = line.Number32("kind");
  if (kind > static_cast<uint32_t>(trace::TrackKind::kDetail)) return false;
  info.kind = static_cast<trace::TrackKind>(kind);
  process.NameTrack(*id, std::move(info));
  return true;
}

bool JobNames::TakeFramework(const NamesLine& line) {
  const std::string name = line.Text("name");
  if (name.empty()) return false;
  if (frameworks_.size() >= kMostFrameworks || !frameworks_.insert(name).second) return true;
  table_.UpdateRun([&](trace::RunInfo& run) {
    run.job.frameworks.push_back({name, line.Text("version")});
  });
  return true;
}

bool JobNames::TakeDigest(const JobProcess& process, const NamesLine& line) {
  LoaderDigest digest;
  digest.hash = line.Text("hash");
  const LoaderId id = IdIn(process.ids_.loaders, line.Number("loader"));
  const auto loader = std::find_if(loaders_.begin(), loaders_.end(),
                                   [&](const auto& known) { return known.second.id == id; });
  if (!IsDigest(digest.hash) || !id.known() || loader == loaders_.end()) return false;
  const trace::LoaderInfo& info = loader->second;
  digest.place = info.file.empty() ? "loader " + std::to_string(id.value)
                                   : info.file + ":" + std::to_string(info.line);
  digest.batches = line.Number("batches").value_or(0);
  digest.steps = line.Number("steps").value_or(0);
  digest.hashing_ns = line.Number("ns").value_or(0);
  digest.ordered = line.Flag("ordered");
  for (const std::string& what : line.Texts("missing", kMostSaid)) {
    digest.missing.push_back(what.substr(0, kLongestSentence));
  }
  digests_[{process.key_, digest.place}] = std::move(digest);
  return true;
}

bool JobNames::TakeProfile(const JobProcess& process, const NamesLine& line) {
  JobProfile profile;
  profile.file = line.Text("file");
  profile.pid = process.key_.pid;
  const auto window = line.Window();
  // The process's own file: "<pid>.<start>.<n>.profile".
  std::string_view rest = profile.file;
  if (recorder::TakeProcessKey(rest) != process.key_ || !rest.ends_with(".profile")) return false;
  rest.remove_suffix(std::string_view(".profile").size());
  const bool number = !rest.empty() && rest.find_first_not_of("0123456789") == std::string::npos;
  if (!number || !window || profiles_.size() >= kMostProfiles) return false;
  profile.from_ns = window->first;
  profile.to_ns = window->second;
  profiles_.push_back(std::move(profile));
  return true;
}

bool JobNames::TakeProbe(const JobProcess& process, const NamesLine& line) {
  const auto window = line.Window();
  if (!window || (!probes_.contains(*window) && probes_.size() >= kMostProbes)) return false;
  const bool slows = line.Member("stage") != nullptr;
  const StageId stage = IdIn(process.ids_.stages, line.Number("stage"));
  if (slows && !stage.known()) return false;
  probes_[*window] = stage;
  return true;
}

bool JobNames::TakeSlowed(const NamesLine& line) {
  const auto window = line.Window();
  if (!window || (!paid_.contains(*window) && paid_.size() >= kMostProbes)) return false;
  const uint64_t most = static_cast<uint64_t>(trace::kMaxTimeNs);
  trace::Probe& paid = paid_[*window];
  const auto add = [&](const char* key, uint64_t& to) {
    to = std::min(most, to + std::min(most, line.Number(key).value_or(0)));
  };
  add("elements", paid.elements);
  add("work", paid.work_ns);
  add("delay", paid.delay_ns);
  return true;
}

bool JobNames::TakeSaid(const std::string& text) {
  std::string sentence = text.substr(0, kLongestSentence);
  if (said_.size() >= kMostSaid || !said_.insert(sentence).second) return true;
  table_.UpdateRun([&](trace::RunInfo& run) { run.warnings.push_back(std::move(sentence)); });
  return true;
}

}  // namespace stallscope::job
