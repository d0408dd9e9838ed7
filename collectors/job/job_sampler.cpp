#include "collectors/job/job_sampler.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <utility>

#include "analyzer/base/clock.h"
#include "analyzer/base/units.h"
#include "collectors/recorder/definitions.h"

namespace stallscope::job {

using system::Counter;
using system::ReadOnce;
using system::Row;
using system::TakeNumber;
using system::TakeWord;

namespace {

constexpr size_t kThreadsPerBeat = 64;
constexpr size_t kMostThreadsNamed = 1'024;
constexpr size_t kMostThreads = 4'096;
constexpr size_t kMostProcesses = 4'096;
constexpr size_t kMostKeptOpen = 256;  // processes whose files stay open
constexpr size_t kMostArgumentBytes = 4'096;
constexpr size_t kMostThreadsLookedAt = 64;  // of a process, for its children
constexpr int64_t kProcessPeriodNs = 100 * kNsPerMs;
constexpr int64_t kPeriodPerProcessNs = 5 * kNsPerMs;
// The kernel looks at each of a process's pages, which are a quarter of a million per GiB, and
// holds up its mappings meanwhile.
constexpr int64_t kSharesPeriodNs = 5 * kNsPerSecond;
constexpr int64_t kSharesAtOnceNs = 20 * kNsPerMs;
constexpr int64_t kSharesPart = 200;    // of the time, at most, to read what processes share
constexpr int64_t kNewSharesPart = 20;  // the same, after some have begun or ended

uint64_t TickNs() {
  static const auto ticks = static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  return kNsPerSecond / std::max<uint64_t>(ticks, 1);
}

std::string ProcPath(uint64_t pid, const std::string& file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

std::vector<std::string> ReadArguments(uint64_t pid) {
  std::vector<std::string> arguments;
  auto text = ReadOnce(ProcPath(pid, "cmdline"));
  if (!text) return arguments;
  text->resize(std::min(text->size(), kMostArgumentBytes));
  for (size_t at = 0; at < text->size() && arguments.size() < 64;) {
    arguments.emplace_back(text->c_str() + at);
    at += arguments.back().size() + 1;
  }
  return arguments;
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// What a user would call it: the script rather than its interpreter.
std::string NameOf(const std::vector<std::string>& arguments, const std::string& command) {
  for (size_t i = 0; i < std::min<size_t>(arguments.size(), 8); ++i) {
    const std::string& argument = arguments[i];
    if (i > 0 && (argument.ends_with(".py") || argument.ends_with(".sh"))) {
      return BaseName(argument);
    }
    if (i > 0 && arguments[i - 1] == "-m") return argument;
  }
  if (!arguments.empty() && !arguments[0].empty()) return BaseName(arguments[0]);
  return command;
}

// The start is counted from when the machine was started, suspended time included.
int64_t StartNs(const recorder::ProcessKey& key) {
  timespec boot{};
  clock_gettime(CLOCK_BOOTTIME, &boot);
  const int64_t boot_ns = int64_t{boot.tv_sec} * kNsPerSecond + boot.tv_nsec;
  return MonotonicNs() - (boot_ns - static_cast<int64_t>(key.start * TickNs()));
}

// The words of a line, up to `Count`.
template <size_t Count>
std::array<uint64_t, Count> Numbers(std::string_view text) {
  std::array<uint64_t, Count> numbers{};
  for (uint64_t& number : numbers) {
    const auto word = TakeWord(text);
    if (!word) break;
    std::string_view digits = *word;
    number = TakeNumber(digits).value_or(0);
  }
  return numbers;
}

// /proc/<pid>/stat.
std::optional<ProcessState> StateIn(std::string_view text, uint64_t pid) {
  // The name in brackets may hold anything.
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos ||
      close + 3 > text.size()) {
    return std::nullopt;
  }
  ProcessState process;
  process.command = text.substr(open + 1, close - open - 1);
  process.state = text[close + 2];
  // From field 4 of proc(5) on.
  const auto fields = Numbers<21>(text.substr(close + 3));
  const auto field = [&](size_t number) { return fields[number - 4]; };
  process.parent = field(4);
  process.faults_minor = field(10);
  process.faults_major = field(12);
  process.user_ns = field(14) * TickNs();
  process.system_ns = field(15) * TickNs();
  process.threads = field(20);
  process.key = {pid, field(22)};
  process.rss_bytes = field(24) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return process;
}

}  // namespace

std::optional<ProcessState> ReadProcess(uint64_t pid) {
  const auto text = ReadOnce(ProcPath(pid, "stat"));
  return text ? StateIn(*text, pid) : std::nullopt;
}

// --- Counters ------------------------------------------------------------------------------------

// Counters of one process, or of the job.
class JobSampler::Sink : public system::CounterSink {
 public:
  explicit Sink(recorder::Recorder& recorder)
      : recorder_(recorder),
        track_(recorder.NewTrack({.name = "sst-job", .kind = trace::TrackKind::kSampler})) {}

  void Of(ProcessId process) { process_ = process; }
  CounterId Define(const std::string& name, const std::string& unit) override {
    return recorder_.names().Define(trace::CounterInfo{{}, name, unit, process_});
  }
  void Put(CounterId counter, double value) override { track_->Sample(counter, value, NowTicks()); }

 private:
  recorder::Recorder& recorder_;
  std::shared_ptr<recorder::Track> track_;
  ProcessId process_;
};

struct JobSampler::Process {
  Process(std::shared_ptr<JobProcess> of, const std::string& pid)
      : job_process(std::move(of)),
        cpu(Row("process<pid>.cpu"), pid),
        rss(Row("process<pid>.rss"), pid),
        only_own(Row("process<pid>.private"), pid),
        requested(Row("process<pid>.io_requested"), pid),
        from_disk(Row("process<pid>.io_from_disk"), pid),
        threads(Row("process<pid>.threads"), pid),
        pool_on_cpu(Row("process<pid>.pool_on_cpu"), pid),
        pool_run_wait(Row("process<pid>.pool_run_wait"), pid) {}

  void Open() {
    if (stat) return;
    stat.emplace(ProcPath(job_process->key().pid, "stat"));
    io.emplace(ProcPath(job_process->key().pid, "io"));
  }
  void Close() {
    stat.reset();
    io.reset();
  }

  std::shared_ptr<JobProcess> job_process;
  std::optional<system::ProcFile> stat, io;
  Usage usage;
  uint64_t rss_bytes = 0;
  uint64_t shared_bytes = 0;  // of this, what other processes count, and files
  uint64_t others_bytes = 0;  // of this, what another process has, too, and files
  bool knows_shared = false;
  bool share_due = false;
  uint64_t thread_count = 0;
  bool ended = false;
  bool has_rings = false;
  // Sums over the threads of a native loader, including ended ones.
  bool has_pool = false;
  uint64_t pool_on_cpu_ns = 0, pool_run_wait_ns = 0;
  Counter cpu, rss, only_own, requested, from_disk, threads, pool_on_cpu, pool_run_wait;
};

struct JobSampler::Thread {
  Thread(int file, const JobProcess& of, uint64_t tid)
      : fd(file),
        key(of.key(), tid),
        process(of.id()),
        on_cpu(Row("thread<tid>.on_cpu"), std::to_string(tid)),
        run_wait(Row("thread<tid>.run_wait"), std::to_string(tid)) {}
  ~Thread() { close(fd); }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  int fd;
  std::pair<recorder::ProcessKey, uint64_t> key;
  ProcessId process;
  Process* pool = nullptr;  // counts in its sums instead of having its own counters
  uint64_t on_cpu_ns = 0, run_wait_ns = 0;
  Counter on_cpu, run_wait;
};

struct SumCounters {
  Counter user{Row("process.cpu_user")};
  Counter system{Row("process.cpu_system")};
  Counter minor{Row("process.faults_minor")};
  Counter major{Row("process.faults_major")};
  Counter threads{Row("process.threads")};
  Counter rss{Row("memory.rss")};
  Counter peak{Row("memory.peak")};
  Counter requested{Row("io.requested")};
  Counter from_disk{Row("io.from_disk")};
  Counter written{Row("io.written")};
  Counter to_disk{Row("io.to_disk")};
  Counter read_calls{Row("io.read_calls")};
  Counter write_calls{Row("io.write_calls")};
};

void JobSampler::Usage::Add(const Usage& other) {
  user_ns += other.user_ns;
  system_ns += other.system_ns;
  faults_minor += other.faults_minor;
  faults_major += other.faults_major;
  requested += other.requested;
  from_disk += other.from_disk;
  written += other.written;
  to_disk += other.to_disk;
  read_calls += other.read_calls;
  write_calls += other.write_calls;
}

// --- The sampler ---------------------------------------------------------------------------------

JobSampler::JobSampler(recorder::Recorder& recorder, JobNames& names)
    : names_(names),
      sink_(std::make_unique<Sink>(recorder)),
      sums_(std::make_unique<SumCounters>()) {}

JobSampler::~JobSampler() = default;

void JobSampler::Begin(pid_t root) {
  root_ = recorder::ReadProcessKey(static_cast<uint64_t>(root)).value_or(recorder::ProcessKey{});
}

void JobSampler::Follow(const JobProcess& process, uint64_t tid) { Follow(process, tid, nullptr); }

void JobSampler::Follow(const JobProcess& process, uint64_t tid, Process* pool) {
  const auto known = processes_.find(process.key());
  if (known != processes_.end() && pool == nullptr) known->second->has_rings = true;
  if (tid == 0 || threads_.size() >= kMostThreads || threads_named_ >= kMostThreadsNamed) return;
  if (followed_.contains({process.key(), tid})) return;
  const std::string path =
      ProcPath(process.key().pid, "task/" + std::to_string(tid) + "/schedstat");
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (pool == nullptr) ++threads_named_;
  threads_.push_back(std::make_unique<Thread>(fd, process, tid));
  threads_.back()->pool = pool;
  followed_.insert(threads_.back()->key);
}

// TensorFlow names its compute threads, but not those of tf.data.
void JobSampler::FollowPool(Process& process) {
  const JobProcess& of = *process.job_process;
  const uint64_t pid = of.key().pid;
  const auto name = ReadOnce(ProcPath(pid, "comm"));
  DIR* const threads = name ? opendir(ProcPath(pid, "task").c_str()) : nullptr;
  if (threads == nullptr) return;
  process.has_pool = pools_ = true;
  while (const dirent* const entry = readdir(threads)) {
    std::string_view digits = entry->d_name;
    const auto tid = TakeNumber(digits);
    if (!tid || *tid == pid || followed_.contains({of.key(), *tid})) continue;
    if (ReadOnce(ProcPath(pid, std::string("task/") + entry->d_name + "/comm")) == name) {
      Follow(of, *tid, &process);
    }
  }
  closedir(threads);
}

void JobSampler::Sample(bool last) {
  SampleThreads(last);
  if (!last && MonotonicNs() < next_processes_ns_) return;
  if (MayHaveNew() || last) Discover();
  SampleProcesses();
  alive_ = static_cast<size_t>(
      std::count_if(processes_.begin(), processes_.end(),
                    [](const auto& process) { return !process.second->ended; }));
  next_processes_ns_ = MonotonicNs() + std::max(kProcessPeriodNs,
                                                static_cast<int64_t>(alive_) * kPeriodPerProcessNs);
}

// A few of them where there are many, in turn.
void JobSampler::SampleThreads(bool all) {
  size_t left = all ? threads_.size() : std::min(threads_.size(), kThreadsPerBeat);
  for (; left > 0 && !threads_.empty(); --left) {
    if (next_thread_ >= threads_.size()) next_thread_ = 0;
    Thread& thread = *threads_[next_thread_];
    char text[128];
    const ssize_t got = pread(thread.fd, text, sizeof text, 0);
    if (got <= 0) {  // it has ended
      followed_.erase(thread.key);
      std::swap(threads_[next_thread_], threads_.back());
      threads_.pop_back();
      continue;
    }
    const auto [on_cpu, run_wait] = Numbers<2>({text, static_cast<size_t>(got)});
    ++next_thread_;
    if (thread.pool != nullptr) {
      thread.pool->pool_on_cpu_ns += on_cpu - std::exchange(thread.on_cpu_ns, on_cpu);
      thread.pool->pool_run_wait_ns += run_wait - std::exchange(thread.run_wait_ns, run_wait);
      continue;
    }
    sink_->Of(thread.process);
    thread.on_cpu.Put(*sink_, on_cpu);
    thread.run_wait.Put(*sink_, run_wait);
  }
  for (const auto& [key, process] : processes_) {
    if (!process->has_pool || process->ended) continue;
    sink_->Of(process->job_process->id());
    process->pool_on_cpu.Put(*sink_, process->pool_on_cpu_ns);
    process->pool_run_wait.Put(*sink_, process->pool_run_wait_ns);
  }
}

// False where no process was started anywhere since the last call: looking for children costs a
// file per thread of the job.
bool JobSampler::MayHaveNew() {
  const auto text = loadavg_.Read();
  const size_t at = text ? text->rfind(' ') : std::string::npos;
  if (at == std::string::npos) return true;
  std::string_view digits = std::string_view(*text).substr(at + 1);
  const auto last_pid = TakeNumber(digits);
  const size_t named = names_.processes().size();
  const bool same = last_pid && last_pid == last_pid_ && named == processes_named_;
  last_pid_ = last_pid;
  processes_named_ = named;
  return !same;
}

void JobSampler::Discover() {
  for (const auto& process : names_.processes()) {
    if (processes_.size() >= kMostProcesses) break;
    auto& known = processes_[process->key()];
    if (known != nullptr) continue;
    known = std::make_unique<Process>(process, std::to_string(process->key().pid));
    known->has_rings = true;
  }
  std::vector<uint64_t> to_look_at;
  if (const auto root = ReadProcess(root_.pid); root && root->key == root_) {
    to_look_at.push_back(root_.pid);
  }
  for (const auto& [key, process] : processes_) {
    if (!process->ended && key != root_) to_look_at.push_back(key.pid);
  }
  while (!to_look_at.empty()) {
    const uint64_t pid = to_look_at.back();
    to_look_at.pop_back();
    LookAt(pid, to_look_at);
  }
}

// Adds the process if it is new, and the children that are not known yet to `to_look_at`.
void JobSampler::LookAt(uint64_t pid, std::vector<uint64_t>& to_look_at) {
  const auto state = ReadProcess(pid);
  if (!state || !state->alive()) return;
  if (!processes_.contains(state->key)) {
    if (processes_.size() >= kMostProcesses) return;
    trace::ProcessInfo info;
    info.arguments = ReadArguments(pid);
    info.name = NameOf(info.arguments, state->command);
    info.parent = state->parent;
    info.start_ns = StartNs(state->key);
    processes_[state->key] =
        std::make_unique<Process>(names_.ProcessOf(state->key, info), std::to_string(pid));
  }
  DIR* const threads = opendir(ProcPath(pid, "task").c_str());
  if (threads == nullptr) return;
  size_t looked = 0;
  while (const dirent* const entry = readdir(threads)) {
    if (entry->d_name[0] == '.') continue;
    if (++looked > kMostThreadsLookedAt) break;
    const auto children =
        ReadOnce(ProcPath(pid, std::string("task/") + entry->d_name + "/children"));
    std::string_view rest = children ? std::string_view(*children) : std::string_view();
    while (const auto word = TakeWord(rest)) {
      std::string_view digits = *word;
      const auto child = TakeNumber(digits);
      if (!child) continue;
      const auto known = processes_.lower_bound({*child, 0});
      if (known != processes_.end() && known->first.pid == *child && !known->second->ended)
        continue;
      to_look_at.push_back(*child);
    }
  }
  closedir(threads);
}

// False if it is gone; what it used last stays.
bool JobSampler::ReadOne(Process& process) {
  process.Open();
  const recorder::ProcessKey& key = process.job_process->key();
  const auto text = process.stat->Read();
  const auto state = text ? StateIn(*text, key.pid) : std::nullopt;
  if (!state || state->key != key) return false;
  Usage& usage = process.usage;
  usage.user_ns = state->user_ns;
  usage.system_ns = state->system_ns;
  usage.faults_minor = state->faults_minor;
  usage.faults_major = state->faults_major;
  if (!state->alive()) return false;
  process.rss_bytes = state->rss_bytes;
  process.thread_count = state->threads;
  if (const auto io = process.io->Read()) {
    const auto number = [&](std::string_view name) {
      return system::FindNumber(*io, name).value_or(0);
    };
    usage.requested = number("rchar");
    usage.from_disk = number("read_bytes");
    usage.written = number("wchar");
    usage.to_disk = number("write_bytes");
    usage.read_calls = number("syscr");
    usage.write_calls = number("syscw");
  }
  return true;
}

// A forked worker has all of its parent's memory as its own resident memory: the kernel divides
// each page by the number of processes that have it ("Pss"). Pages of mapped files it can drop at
// any time.
void JobSampler::ReadShares() {
  const int64_t begin = MonotonicNs();
  size_t alive = 0;
  bool others = false;  // share it now
  for (const auto& [key, process] : processes_) {
    if (process->ended) continue;
    ++alive;
    others = others || !process->knows_shared;
  }
  others = others || alive != shared_among_;
  if (shares_due_ == 0) {
    if (begin < (others ? next_new_shares_ns_ : next_shares_ns_)) return;
    shared_among_ = alive;
    shares_cost_ns_ = 0;
    for (const auto& [key, process] : processes_) process->share_due = true;
  }
  // The rings are drained by the same thread: many processes take several beats.
  shares_due_ = 0;
  for (const auto& [key, process] : processes_) {
    if (process->ended || !process->share_due) continue;
    if (MonotonicNs() - begin > kSharesAtOnceNs) {
      ++shares_due_;
      continue;
    }
    ReadShare(*process);
  }
  const int64_t end = MonotonicNs();
  shares_cost_ns_ += end - begin;
  next_new_shares_ns_ = end + kNewSharesPart * shares_cost_ns_;
  next_shares_ns_ = end + std::max(kSharesPeriodNs, kSharesPart * shares_cost_ns_);
}

void JobSampler::ReadShare(Process& process) {
  process.share_due = false;
  const auto text = ReadOnce(ProcPath(process.job_process->key().pid, "smaps_rollup"));
  static const bool offered = ReadOnce("/proc/self/smaps_rollup").has_value();  // Linux 4.14
  if (!text && offered) return;  // it is ending, and its memory is its siblings' again
  process.knows_shared = true;
  const auto bytes = [&](std::string_view name) {
    const auto kib = text ? system::FindNumber(*text, name) : std::nullopt;
    return kib ? std::optional(*kib * 1024) : std::nullopt;
  };
  const uint64_t share = bytes("Pss").value_or(process.rss_bytes);
  const uint64_t own = share - std::min(share, bytes("Pss_File").value_or(0));
  process.shared_bytes = process.rss_bytes - std::min(process.rss_bytes, own);
  const uint64_t only_own = bytes("Private_Dirty").value_or(own);
  process.others_bytes = process.rss_bytes - std::min(process.rss_bytes, only_own);
}

void JobSampler::SampleProcesses() {
  uint64_t rss = 0;
  uint64_t threads = 0;
  for (const auto& [key, process] : processes_) {
    if (process->ended) continue;
    sink_->Of(process->job_process->id());
    const bool there = ReadOne(*process);
    if (alive_ > kMostKeptOpen) process->Close();
    process->cpu.Put(*sink_, process->usage.user_ns + process->usage.system_ns);
    process->requested.Put(*sink_, process->usage.requested);
    process->from_disk.Put(*sink_, process->usage.from_disk);
    if (!there) {
      process->ended = true;
      process->Close();
      of_ended_.Add(process->usage);
      process->job_process->End(MonotonicNs());
      ended_.push_back(key);
      continue;
    }
    if (process->job_process->has_native_loader()) FollowPool(*process);
    process->threads.Put(*sink_, process->thread_count);
    threads += process->thread_count;
  }
  ReadShares();
  for (const auto& [key, process] : processes_) {
    if (process->ended || !process->knows_shared) continue;
    const uint64_t own = process->rss_bytes - std::min(process->rss_bytes, process->shared_bytes);
    sink_->Of(process->job_process->id());
    process->rss.Put(*sink_, own);
    process->only_own.Put(*sink_,
                          process->rss_bytes - std::min(process->rss_bytes, process->others_bytes));
    rss += own;
  }
  PutSums(rss, threads);
}

void JobSampler::PutSums(uint64_t rss, uint64_t threads) {
  Usage sum = of_ended_;
  for (const auto& [key, process] : processes_) {
    if (!process->ended) sum.Add(process->usage);
  }
  peak_rss_ = std::max(peak_rss_, rss);
  sink_->Of(ProcessId::None());
  SumCounters& counters = *sums_;
  counters.user.Put(*sink_, sum.user_ns);
  counters.system.Put(*sink_, sum.system_ns);
  counters.minor.Put(*sink_, sum.faults_minor);
  counters.major.Put(*sink_, sum.faults_major);
  counters.threads.Put(*sink_, threads);
  counters.rss.Put(*sink_, rss);
  counters.peak.Put(*sink_, peak_rss_);
  counters.requested.Put(*sink_, sum.requested);
  counters.from_disk.Put(*sink_, sum.from_disk);
  counters.written.Put(*sink_, sum.written);
  counters.to_disk.Put(*sink_, sum.to_disk);
  counters.read_calls.Put(*sink_, sum.read_calls);
  counters.write_calls.Put(*sink_, sum.write_calls);
}

std::vector<recorder::ProcessKey> JobSampler::TakeEnded() { return std::exchange(ended_, {}); }

bool JobSampler::AnyAlive() const {
  return std::any_of(processes_.begin(), processes_.end(), [](const auto& process) {
    return !process.second->ended && process.second->has_rings;
  });
}

}  // namespace stallscope::job
