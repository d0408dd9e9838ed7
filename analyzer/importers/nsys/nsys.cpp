#include "analyzer/importers/nsys/nsys.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/importers/foreign/id_table.h"
#include "analyzer/importers/foreign/launches.h"
#include "analyzer/importers/foreign/run_builder.h"
#include "analyzer/importers/nsys/database.h"
#include "analyzer/importers/nsys/ranges.h"
#include "analyzer/trace/events.h"
#include "analyzer/trace/limits.h"

namespace stallscope::importers::nsys {

namespace {

using trace::CopyDirection;
using trace::CopyMemory;
using trace::SpanActivity;
using trace::WaitCause;

constexpr std::string_view kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr std::string_view kCopies = "CUPTI_ACTIVITY_KIND_MEMCPY";
constexpr std::string_view kMemsets = "CUPTI_ACTIVITY_KIND_MEMSET";
constexpr std::string_view kCudaCalls = "CUPTI_ACTIVITY_KIND_RUNTIME";
constexpr std::string_view kRanges = "NVTX_EVENTS";
constexpr std::string_view kSystemCalls = "OSRT_API";

// Values of NVTX_EVENTS.eventType; others are marks and names.
constexpr int64_t kPushPop = 59;
constexpr int64_t kStartEnd = 60;

// A thread's id: vendor, machine, process and thread in one number, the last two with 24 bits each.
constexpr uint64_t kThreadBits = 24;
constexpr uint64_t kThreadMask = (uint64_t{1} << kThreadBits) - 1;

// Correlation ids are per process.
uint64_t LaunchKey(int64_t global_id, int64_t correlation) {
  return static_cast<uint64_t>(global_id) >> kThreadBits << 32 |
         (static_cast<uint64_t>(correlation) & 0xffffffffu);
}

// What a thread waited for in a call of the system's library; nothing if it worked.
std::optional<WaitCause> WaitIn(std::string_view call) {
  for (const std::string_view io : {"read", "pread", "readv", "preadv", "fread", "recv"}) {
    if (call.starts_with(io)) return WaitCause::kIo;
  }
  for (const std::string_view lock : {"pthread_mutex_lock", "pthread_rwlock"}) {
    if (call.starts_with(lock)) return WaitCause::kLock;
  }
  for (const std::string_view wait : {"pthread_cond", "sem_", "poll", "ppoll", "epoll_", "select",
                                      "nanosleep", "usleep", "sleep", "futex", "pthread_join"}) {
    if (call.starts_with(wait)) return WaitCause::kUnknown;
  }
  return std::nullopt;
}

// "iteration" of "iteration 12".
std::string WithoutNumber(std::string_view text) {
  const size_t end = text.find_last_not_of("0123456789 _-#:=[]");
  return std::string(end == std::string_view::npos ? text : text.substr(0, end + 1));
}

// A text may be 16 MiB long, and a million rows may refer to it.
std::string_view Cut(std::string_view text) { return text.substr(0, trace::kMaxNameBytes); }

// What the numbers on an Nsight copy mean. Nsight has enumerations of its own: memory kind 0 is
// pageable, 1 pinned, 2 device, where CUPTI's activity records count 1 pageable, 2 pinned, 3
// device. Later exports carry them as tables, which then count.
class CopyKinds {
 public:
  explicit CopyKinds(Database& database)
      : directions_{{1, CopyDirection::kHostToDevice},  {2, CopyDirection::kDeviceToHost},
                    {3, CopyDirection::kHostToDevice},  {4, CopyDirection::kDeviceToHost},
                    {11, CopyDirection::kHostToDevice}, {12, CopyDirection::kDeviceToHost}},
        memories_{{0, CopyMemory::kPageable}, {1, CopyMemory::kPinned}} {
    std::map<int64_t, CopyDirection> directions;
    database.ForEach("ENUM_CUDA_MEMCPY_OPER", {"id", "name"}, [&](const Row& row) {
      const std::string_view name = row.Text(1);
      if (name.ends_with("HTOD") || name.ends_with("HTOA")) {
        directions[row.Int(0)] = CopyDirection::kHostToDevice;
      } else if (name.ends_with("DTOH") || name.ends_with("ATOH")) {
        directions[row.Int(0)] = CopyDirection::kDeviceToHost;
      }
    });
    if (!directions.empty()) directions_ = std::move(directions);
    std::map<int64_t, CopyMemory> memories;
    database.ForEach("ENUM_CUDA_MEM_KIND", {"id", "name"}, [&](const Row& row) {
      const std::string_view name = row.Text(1);
      if (name.ends_with("PAGEABLE")) memories[row.Int(0)] = CopyMemory::kPageable;
      if (name.ends_with("PINNED")) memories[row.Int(0)] = CopyMemory::kPinned;
    });
    if (!memories.empty()) memories_ = std::move(memories);
  }

  CopyDirection DirectionOf(int64_t copy_kind) const {
    const auto found = directions_.find(copy_kind);
    return found == directions_.end() ? CopyDirection::kDeviceToDevice : found->second;
  }
  // The host's memory.
  CopyMemory MemoryOf(CopyDirection direction, int64_t source, int64_t destination) const {
    if (direction == CopyDirection::kDeviceToDevice) return CopyMemory::kUnknown;
    const auto found =
        memories_.find(direction == CopyDirection::kHostToDevice ? source : destination);
    return found == memories_.end() ? CopyMemory::kUnknown : found->second;
  }

 private:
  std::map<int64_t, CopyDirection> directions_;
  std::map<int64_t, CopyMemory> memories_;
};

struct Text {
  std::string text;
  trace::StringId id;
};

class Importer {
 public:
  Importer(Database& database, ByteSource& source)
      : database_(database),
        builder_(source.path(), "nsys", "", &source.allowance()),
        copy_kinds_(database) {}

  Result<model::Run> Run() {
    Describe();
    ReadTexts();
    ReadThreadNames();
    ReadCudaCalls();
    ReadCalls(kSystemCalls, SpanActivity::kFunction);
    ReadCalls("CUDNN_EVENTS", SpanActivity::kOperator);
    ReadCalls("CUBLAS_EVENTS", SpanActivity::kOperator);
    ReadRanges();
    launches_.Close();
    ReadKernels();
    ReadCopies();
    ReadMemsets();
    STALLSCOPE_RETURN_IF_ERROR(database_.CheckAllowance());
    MarkedRanges marked;
    marked.keys = std::move(keys_);
    marked.texts = std::move(key_texts_);
    for (auto& [id, thread] : threads_) marked.threads.push_back(std::move(thread.marked));
    const MarksSeen seen = AddMarkedRanges(marked, builder_);
    SayLimits(seen);
    for (const std::string& damage : database_.damage()) builder_.Lose(damage);
    builder_.LeaveOut(
        "{value is not a whole number|values are not whole numbers} where Nsight writes whole "
        "numbers: "
        "converted",
        database_.odd_values());
    return builder_.Finish(seen.steps);
  }

 private:
  struct Thread {
    MarkedThread marked;
    TrackId detail;
  };

  void Describe() {
    trace::RunInfo& info = builder_.info();
    std::string version;
    database_.ForEach("META_DATA_EXPORT", {"name", "value"}, [&](const Row& row) {
      const std::string_view name = row.Text(0);
      if (name == "EXPORT_SCHEMA_VERSION") version = row.Text(1);
      if (name == "EXPORT_HOST") info.host.name = row.Text(1);
      if (name == "EXPORT_PRODUCT_VERSION")
        info.tool = "Nsight Systems " + std::string(row.Text(1));
    });
    builder_.SetFormat("nsys", version);
    CheckVersion(version);
    info.device.kind = "cuda";
    bool first = true;
    database_.ForEach("TARGET_INFO_GPU", {"name", "totalMemory"}, [&](const Row& row) {
      if (!std::exchange(first, false)) return;
      info.device.name = row.Text(0);
      info.device.memory_bytes = static_cast<uint64_t>(std::max<int64_t>(0, row.Int(1)));
    });
    database_.ForEach(
        "TARGET_INFO_SESSION_START_TIME", {"utcEpochNs", "systemClockNs"}, [&](const Row& row) {
          // Older exports count from the session's start.
          builder_.SetRealtimeAhead(trace::ClampTime(row.Int(0)) - trace::ClampTime(row.Int(1)));
        });
  }

  void CheckVersion(const std::string& version) {
    int major = 0;
    int minor = 0;
    const char* const end = version.data() + version.size();
    const auto read = std::from_chars(version.data(), end, major);
    if (read.ec == std::errc() && read.ptr != end) std::from_chars(read.ptr + 1, end, minor);
    const bool known =
        std::pair(major, minor) >= std::pair(2, 9) && std::pair(major, minor) <= std::pair(3, 25);
    if (!version.empty() && !known) {
      builder_.Warn("its schema is " + version +
                    ", but only 2.9 to 3.25 are supported: read by the names of its columns");
    }
  }

  void ReadTexts() {
    database_.ForEach("StringIds", {"id", "value"}, [&](const Row& row) {
      const std::string_view text = Cut(row.Text(1));
      builder_.allowance().ChargeText(sizeof(Text) + text.size());
      texts_[row.Int(0)].text = text;
    });
  }
  std::string_view TextOf(int64_t id) const {
    const Text* text = texts_.Find(id);
    return text == nullptr ? std::string_view() : std::string_view(text->text);
  }
  trace::StringId InternText(int64_t id) {
    if (texts_.Find(id) == nullptr) return builder_.Intern("(no name)");
    Text& text = texts_[id];
    if (!text.id.known()) text.id = builder_.Intern(text.text);
    return text.id;
  }

  void ReadThreadNames() {
    database_.ForEach("ThreadNames", {"globalTid", "nameId"}, [&](const Row& row) {
      const std::string_view text = TextOf(row.Int(1));
      builder_.allowance().ChargeText(text.size());
      thread_names_[row.Int(0)] = text;
    });
  }

  Thread& ThreadOf(int64_t global_id) {
    if (last_thread_ != nullptr && last_thread_id_ == global_id) return *last_thread_;
    const auto [place, fresh] = threads_.try_emplace(global_id);
    Thread& thread = place->second;
    if (fresh) {
      builder_.allowance().ChargeText(sizeof(Thread));
      const uint64_t number = static_cast<uint64_t>(global_id) & kThreadMask;
      const auto name = thread_names_.find(global_id);
      thread.marked.name = name != thread_names_.end() && !name->second.empty()
                               ? name->second
                               : "thread " + std::to_string(number);
      thread.marked.number = number;
      thread.detail = builder_.DetailTrack(thread.marked.name, number);
    }
    last_thread_ = &thread;
    last_thread_id_ = global_id;
    return thread;
  }

  uint16_t ClassOf(SpanActivity activity, int64_t text) {
    const auto [place, fresh] = classes_.try_emplace(text << 3 | static_cast<int64_t>(activity));
    if (fresh) {
      builder_.allowance().ChargeText(0);
      place->second = builder_.Detail(activity, InternText(text));
    }
    return place->second;
  }

  void ReadCudaCalls() {
    database_.ForEach(kCudaCalls, {"start", "end", "globalTid", "correlationId", "nameId"},
                      [&](const Row& row) {
                        const int64_t start = row.Int(0);
                        const int64_t global_id = row.Int(2);
                        Thread& thread = ThreadOf(global_id);
                        builder_.AddSpan(thread.detail, ClassOf(SpanActivity::kRuntime, row.Int(4)),
                                         start, EndOf(row, start));
                        builder_.allowance().Charge(Launches::kCallBytes);
                        launches_.Add(LaunchKey(global_id, row.Int(3)), start);
                        if (!thread.marked.launches) {
                          const std::string_view name = TextOf(row.Int(4));
                          thread.marked.launches = name.find("Launch") != std::string_view::npos ||
                                                   name.find("Memcpy") != std::string_view::npos;
                        }
                      });
  }

  void ReadCalls(std::string_view table, SpanActivity activity) {
    const bool system = table == kSystemCalls;
    database_.ForEach(table, {"start", "end", "globalTid", "nameId"}, [&](const Row& row) {
      const int64_t start = row.Int(0);
      const int64_t end = EndOf(row, start);
      Thread& thread = ThreadOf(row.Int(2));
      builder_.AddSpan(thread.detail, ClassOf(activity, row.Int(3)), start, end);
      if (!system) return;
      if (const auto cause = WaitIn(TextOf(row.Int(3)))) {
        builder_.allowance().Charge(sizeof(SystemWait));
        thread.marked.waits.push_back({start, end, *cause});
      }
    });
  }

  void ReadRanges() {
    database_.ForEach(
        kRanges, {"start", "end", "eventType", "text", "textId", "globalTid"}, [&](const Row& row) {
          const int64_t type = row.Int(2);
          if (row.IsNull(0) || (!row.IsNull(2) && type != kPushPop && type != kStartEnd)) return;
          if (row.IsNull(1)) {
            builder_.Count("{range was|ranges were} open when the recording ended: left out");
            return;
          }
          const int64_t start = row.Int(0);
          const int64_t end = row.Int(1);
          Thread& thread = ThreadOf(row.Int(5));
          const std::string_view text = row.IsNull(3) ? TextOf(row.Int(4)) : Cut(row.Text(3));
          builder_.AddSpan(thread.detail, RangeClass(text), start, end);
          if (IsFrameworkOp(text)) return;
          builder_.allowance().Charge(sizeof(Range));
          thread.marked.ranges.push_back(
              {start, std::max(start, end), KeyOf(text), RangeNumber(text)});
        });
  }
  uint16_t RangeClass(std::string_view text) {
    const SpanActivity activity =
        IsFrameworkOp(text) ? SpanActivity::kOperator : SpanActivity::kAnnotation;
    // "aten::copy_" of "aten::copy_, op_id = 7": otherwise each would be a kind of its own.
    const std::string_view name = text.substr(0, text.find(", op_id = "));
    return builder_.Detail(activity, builder_.Intern(name.empty() ? "(no name)" : name));
  }
  uint32_t KeyOf(std::string_view text) {
    std::string key = RangeKey(text);
    const auto [place, fresh] = key_numbers_.try_emplace(key, static_cast<uint32_t>(keys_.size()));
    if (fresh) {
      builder_.allowance().ChargeText(Allowance::kEntryBytes + 3 * text.size());
      keys_.push_back(std::move(key));
      key_texts_.push_back(WithoutNumber(text));
    }
    return place->second;
  }

  // An event that was open when the recording ended has no end.
  static int64_t EndOf(const Row& row, int64_t start) { return row.IsNull(1) ? start : row.Int(1); }

  TrackId StreamOf(int64_t global_id, int64_t device, int64_t stream) {
    const auto [place, fresh] =
        streams_.try_emplace({static_cast<uint64_t>(global_id) >> kThreadBits, device, stream});
    if (fresh) {
      builder_.allowance().ChargeText(0);
      place->second =
          builder_.StreamTrack("stream " + std::to_string(stream), static_cast<uint32_t>(device),
                               static_cast<uint64_t>(stream));
    }
    return place->second;
  }

  // The columns that all tables of device work share, and the part of a kernel or copy they give.
  static std::vector<std::string_view> DeviceColumns(
      std::initializer_list<std::string_view> others) {
    std::vector<std::string_view> columns = {"start",    "end",           "deviceId",
                                             "streamId", "correlationId", "globalPid"};
    columns.insert(columns.end(), others);
    return columns;
  }
  template <class Work>
  Work DeviceWorkOf(const Row& row) {
    const int64_t start = row.Int(0);
    auto work = DeviceRow<Work>(StreamOf(row.Int(5), row.Int(2), row.Int(3)),
                                static_cast<uint64_t>(row.Int(4)), start, EndOf(row, start));
    work.enqueued_ns = launches_.StartOf(LaunchKey(row.Int(5), row.Int(4)));
    return work;
  }

  void ReadKernels() {
    database_.ForEach(kKernels, DeviceColumns({"shortName", "demangledName", "graphId"}),
                      [&](const Row& row) {
                        auto kernel = DeviceWorkOf<trace::Kernel>(row);
                        kernel.name = InternText(row.IsNull(6) ? row.Int(7) : row.Int(6));
                        kernel.graph = static_cast<uint64_t>(row.Int(8));
                        builder_.Add(kernel);
                      });
  }

  void ReadCopies() {
    database_.ForEach(kCopies, DeviceColumns({"bytes", "copyKind", "srcKind", "dstKind"}),
                      [&](const Row& row) {
                        auto copy = DeviceWorkOf<trace::Copy>(row);
                        copy.bytes = static_cast<uint64_t>(std::max<int64_t>(0, row.Int(6)));
                        copy.direction = copy_kinds_.DirectionOf(row.Int(7));
                        const int64_t from = row.IsNull(8) ? -1 : row.Int(8);
                        const int64_t to = row.IsNull(9) ? -1 : row.Int(9);
                        copy.memory = copy_kinds_.MemoryOf(copy.direction, from, to);
                        builder_.Add(copy);
                      });
  }

  void ReadMemsets() {
    const uint16_t span_class = builder_.Detail(SpanActivity::kMemset, builder_.Intern("Memset"));
    database_.ForEach(kMemsets, {"start", "end", "deviceId", "streamId", "globalPid"},
                      [&](const Row& row) {
                        const int64_t start = row.Int(0);
                        builder_.AddSpan(StreamOf(row.Int(4), row.Int(2), row.Int(3)), span_class,
                                         start, EndOf(row, start));
                      });
  }

  void SayLimits(const MarksSeen& seen) {
    if (!seen.loader) {
      builder_.Limit(
          "stages: no range marks where the trainer fetches a batch; mark it with NVTX "
          "(nvtx.range_push(\"data loading\")) to see what it waits for");
    }
    if (!database_.Has(kCudaCalls)) {
      builder_.Limit(
          "launch: calls into CUDA were not recorded; record with --trace=cuda,nvtx,osrt");
    }
    builder_.Limit("throughput: Nsight does not record the number of samples per step");
    builder_.Limit("stages: Nsight's exports do not say how long each call was on a core");
  }

  Database& database_;
  RunBuilder builder_;
  const CopyKinds copy_kinds_;
  IdTable<Text> texts_;
  // Trees by the file's numbers: crafted ones could turn a hash table into one long list.
  std::map<int64_t, std::string> thread_names_;
  std::map<int64_t, Thread> threads_;
  Thread* last_thread_ = nullptr;
  int64_t last_thread_id_ = 0;
  std::map<int64_t, uint16_t> classes_;
  std::vector<std::string> keys_;
  std::vector<std::string> key_texts_;
  std::unordered_map<std::string, uint32_t> key_numbers_;
  Launches launches_;
  std::map<std::tuple<uint64_t, int64_t, int64_t>, TrackId> streams_;
};

}  // namespace

bool LooksLikeDatabase(std::string_view head) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  return head.starts_with(kMagic);
}

Result<model::Run> ReadNsys(ByteSource& source) {
  STALLSCOPE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, Database::Open(source));
  constexpr std::array kTables = {kKernels,
                                  kCopies,
                                  kMemsets,
                                  kCudaCalls,
                                  kRanges,
                                  kSystemCalls,
                                  std::string_view("META_DATA_EXPORT")};
  const bool any = std::any_of(kTables.begin(), kTables.end(),
                               [&](std::string_view table) { return database->Has(table); });
  if (!any) {
    return Error{ErrorKind::kInput,
                 "this is not a trace: it looks like an SQLite database, but has none of Nsight "
                 "Systems' tables",
                 source.path(), "export the report with nsys export --type sqlite"};
  }
  STALLSCOPE_ASSIGN_OR_RETURN(model::Run run, Importer(*database, source).Run());
  TellDamage(source, run.quality);
  return run;
}

}  // namespace stallscope::importers::nsys
