#include "collectors/recorder/joined.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "analyzer/base/escape.h"
#include "analyzer/trace/limits.h"

namespace stallscope::recorder {
namespace {

// The one that a fork has to know about; recordings of one process follow one another.
std::atomic<JoinedRecording*> joined_recording{nullptr};

// One line of the names file. Written by hand: a program that records itself needs no JSON library.
class NameLine {
 public:
  explicit NameLine(const char* kind) { text_ = std::string("{\"") + kind + "\":{"; }
  NameLine& Raw(const char* key, std::string_view value) {
    if (text_.back() != '{') text_ += ',';
    text_ += std::string("\"") + key + "\":";
    text_ += value;
    return *this;
  }
  NameLine& Number(const char* key, uint64_t value) { return Raw(key, std::to_string(value)); }
  NameLine& Flag(const char* key, bool value) { return Raw(key, value ? "true" : "false"); }
  NameLine& Text(const char* key, std::string_view value) { return Raw(key, Quoted(value)); }
  template <class Id>
  NameLine& Known(const char* key, Id id) {
    return id.known() ? Number(key, id.value) : *this;
  }
  std::string Done() const { return text_ + "}}\n"; }

  static std::string Quoted(std::string_view value) {
    std::string quoted = "\"";
    AppendJsonEscaped(value.substr(0, trace::kMaxNameBytes), quoted);
    return quoted + '"';
  }

 private:
  std::string text_;
};

std::string LineOf(const trace::StageInfo& stage) {
  std::string inputs = "[";
  for (StageId input : stage.inputs) {
    if (input.known()) inputs += (inputs.size() == 1 ? "" : ",") + std::to_string(input.value);
  }
  return NameLine("stage")
      .Number("id", stage.id.value)
      .Text("name", stage.name)
      .Text("kind", stage.kind)
      .Number("workers", stage.workers)
      .Flag("ordered", stage.ordered)
      .Raw("inputs", inputs + "]")
      .Known("queue", stage.queue)
      .Done();
}

std::string LineOf(const trace::QueueInfo& queue) {
  return NameLine("queue")
      .Number("id", queue.id.value)
      .Text("name", queue.name)
      .Number("capacity", queue.capacity)
      .Flag("lock", queue.lock)
      .Done();
}

std::string LineOf(const trace::TrackInfo& track) {
  return NameLine("track")
      .Number("id", track.id.value)
      .Number("tid", track.thread)
      .Text("name", track.name)
      .Number("kind", static_cast<uint64_t>(track.kind))
      .Number("device", track.device)
      .Known("stage", track.stage)
      .Done();
}

std::string LineOf(const trace::CounterInfo& counter) {
  return NameLine("counter")
      .Number("id", counter.id.value)
      .Text("name", counter.name)
      .Text("unit", counter.unit)
      .Done();
}

// Ours, and nobody else's to write in.
bool IsSessionFolder(const std::string& folder) {
  struct stat about;
  return !folder.empty() && folder[0] == '/' && lstat(folder.c_str(), &about) == 0 &&
         S_ISDIR(about.st_mode) && about.st_uid == geteuid() && (about.st_mode & 077) == 0;
}

}  // namespace

std::shared_ptr<JoinedRecording> JoinedRecording::FromEnvironment(const trace::RunInfo& run,
                                                                  const Options& options) {
  const char* const folder = std::getenv("STALLSCOPE_SESSION");
  if (folder == nullptr || !IsSessionFolder(folder)) return nullptr;
  std::shared_ptr<JoinedRecording> joined(new JoinedRecording(folder, run, options));
  {
    const std::lock_guard lock(joined->mutex_);
    joined->BeginProcess();
  }
  [[maybe_unused]] static const int registered = pthread_atfork(nullptr, nullptr, &AfterFork);
  joined_recording.store(joined.get());
  return joined;
}

JoinedRecording::~JoinedRecording() {
  JoinedRecording* self = this;
  joined_recording.compare_exchange_strong(self, nullptr);
  Stop();
}

// In the child, of which only the forking thread is left: its rings are the parent's.
void JoinedRecording::AfterFork() {
  JoinedRecording* const joined = joined_recording.load();
  if (joined == nullptr) return;
  // The lock may have been taken by a thread that the child does not have.
  new (&joined->mutex_) std::mutex;
  for (const auto& ring : joined->rings_) {
    if (const auto held = ring.lock()) held->Detach();
  }
  joined->rings_.clear();
  joined->process_ = {};
}

// With mutex_ held: whoever this process is now says so, and writes all names again.
void JoinedRecording::BeginProcess() {
  const auto pid = static_cast<uint64_t>(getpid());
  if (process_.pid == pid) return;
  const auto key = ReadProcessKey(pid);
  silent_ = !key.has_value();
  if (silent_) return;
  process_ = *key;
  known_strings_ = 0;
  names_.MarkAllNew();
  std::string name = "process";
  names_.UpdateRun([&](const trace::RunInfo& run) {
    if (!run.name.empty()) name = run.name;
  });
  Append(NameLine("process")
             .Number("pid", pid)
             .Number("parent", static_cast<uint64_t>(getppid()))
             .Text("name", name)
             .Done());
  WriteNewNames();
}

void JoinedRecording::WriteNewNames() {
  const trace::Definitions fresh = names_.TakeNew();
  std::string lines;
  const auto add = [&](const auto& rows) {
    for (const auto& row : rows) lines += LineOf(row);
  };
  add(fresh.queues);
  add(fresh.stages);
  add(fresh.tracks);
  add(fresh.counters);
  for (const std::string& text : names_.TextsFrom(known_strings_)) {
    lines += NameLine("string").Number("id", known_strings_++).Text("text", text).Done();
  }
  if (!lines.empty()) Append(lines);
}

void JoinedRecording::Append(const std::string& lines) {
  if (silent_) return;
  const std::string path = folder_ + "/" + NamesFileOf(process_);
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  // Half a line would be damage: better none any more.
  if (fd < 0 || write(fd, lines.data(), lines.size()) != static_cast<ssize_t>(lines.size())) {
    silent_ = true;
  }
  if (fd >= 0) close(fd);
}

void JoinedRecording::NamesChanged() {
  const std::lock_guard lock(mutex_);
  BeginProcess();
  WriteNewNames();
}

std::shared_ptr<Track> JoinedRecording::NewTrack(trace::TrackInfo info) {
  const TrackId id = names_.Define(info);
  std::shared_ptr<Ring> ring;
  const std::lock_guard lock(mutex_);
  BeginProcess();
  WriteNewNames();
  if (!silent_) {
    const RingOwner owner{process_, info.thread, uint64_t{id.value} + 1,
                          TicksAreTsc() ? TickSource::kTsc : TickSource::kMonotonic};
    auto made = CreateRingFile(folder_, owner, rings_made_++, options_.ring_slots);
    if (made.ok()) {
      ring = std::move(made).value();
    } else if (!std::exchange(said_no_room_, true)) {
      const std::string why = "threads are not seen where no ring could be made: ";
      Append("{\"said\":" + NameLine::Quoted(why + made.error().what) + "}\n");
    }
  }
  if (ring == nullptr) ring = std::make_shared<Ring>(0);
  std::erase_if(rings_, [](const auto& known) { return known.expired(); });
  rings_.push_back(ring);
  auto* const track = new Track(id, shared_from_this(), ring.get());
  return std::shared_ptr<Track>(track, [ring](Track* done) {
    ring->Close();
    delete done;
  });
}

void JoinedRecording::Fail(const Error& error) {
  const std::lock_guard lock(mutex_);
  BeginProcess();
  Append("{\"said\":" + NameLine::Quoted(error.Line()) + "}\n");
}

Summary JoinedRecording::Stop() {
  // What the rings hold is drained by the other process; its trace has the counts.
  return {};
}

}  // namespace stallscope::recorder
