#include "collectors/device/cuda/record_sorter.h"

#include <cxxabi.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "collectors/device/launch.h"

namespace stallscope::device::cuda {
namespace {

struct Free {
  void operator()(char* text) const { std::free(text); }
};

std::string Demangled(const char* mangled) {
  int status = 0;
  const std::unique_ptr<char, Free> text(abi::__cxa_demangle(mangled, nullptr, nullptr, &status));
  return status == 0 && text != nullptr ? text.get() : mangled;
}

// Each kernel of ours is a template whose first argument is the number of its device::Kernel.
std::string_view OursIn(std::string_view name) {
  constexpr std::string_view kOurs = "stallscope::device::cuda::";
  const size_t ours = name.find(kOurs);
  if (ours == std::string_view::npos) return "";
  const size_t open = name.find('<', ours);
  if (open == std::string_view::npos) return "";
  int number = -1;
  const char* const first = name.data() + open + 1;
  const auto parsed = std::from_chars(first, name.data() + name.size(), number);
  if (parsed.ec != std::errc() || number < 0 || number > static_cast<int>(Kernel::kScaleChannels))
    return "";
  return Name(static_cast<Kernel>(number));
}

constexpr size_t kMostLinks = size_t{1} << 17;

}  // namespace

std::string KernelName(const char* mangled) {
  if (mangled == nullptr) return "kernel";
  std::string name = Demangled(mangled);
  if (const auto ours = OursIn(name); !ours.empty()) return std::string(ours);
  // "void f<g>(h)": without the result, the arguments of the function and of the template.
  if (name.starts_with("void ")) name.erase(0, 5);
  const size_t end = name.find_first_of("<(");
  if (end != std::string::npos && end > 0) name.erase(end);
  return name;
}

uint64_t IssuedWork::Add(Issued issued) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (work_.size() == most_) {
    work_.pop_front();
    ++first_;
  }
  work_.push_back(std::move(issued));
  return first_ + work_.size() - 1;
}

std::optional<Issued> IssuedWork::Find(uint64_t number) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (number < first_ || number - first_ >= work_.size()) return std::nullopt;
  return work_[number - first_];
}

void RecordSorter::Link(uint32_t correlation, uint64_t number) {
  if (links_.size() >= kMostLinks) {
    older_links_ = std::move(links_);
    links_.clear();
  }
  links_[correlation] = number;
}

const uint64_t* RecordSorter::NumberOf(uint32_t correlation) const {
  if (const auto found = links_.find(correlation); found != links_.end()) return &found->second;
  const auto found = older_links_.find(correlation);
  return found != older_links_.end() ? &found->second : nullptr;
}

void RecordSorter::Add(DeviceRecord record) {
  // CUPTI's marker for a time that it could not get.
  if (record.start_ns == 0 || record.end_ns == 0) return Lose(1);
  waiting_.push_back(std::move(record));
}

RecordSorter::CallTrack& RecordSorter::CallsOf(const std::string& track, uint64_t thread) {
  CallTrack& calls = calls_[{track, thread}];
  if (calls.track == nullptr) {
    trace::TrackInfo info;
    info.name = track;
    info.kind = trace::TrackKind::kDetail;
    info.thread = thread;
    calls.track = tracks_.New(info);
  }
  return calls;
}

void RecordSorter::AddSpan(const std::string& track, uint64_t thread, trace::SpanActivity activity,
                           const std::string& name, int64_t start_ns, int64_t end_ns) {
  if (start_ns == 0 || end_ns == 0) return;  // CUPTI reports some overhead without a time
  const Ticks start = clock_.ToTicks(start_ns);
  CallsOf(track, thread)
      .waiting.push_back({activity, name, start, std::max(start, clock_.ToTicks(end_ns))});
}

DeviceTrack& RecordSorter::OtherWork(uint32_t device) {
  auto& track = other_work_[device];
  if (track == nullptr) {
    trace::TrackInfo info;
    info.name = "device " + std::to_string(device) + " other work";
    info.kind = trace::TrackKind::kStream;
    info.device = device;
    track = tracks_.New(info);
  }
  return *track;
}

void RecordSorter::WriteRecord(DeviceTrack& track, const DeviceRecord& record, uint64_t number,
                               const Issued& issued) {
  // Nothing starts before it was enqueued: if the clocks say so, they are that far off.
  Times times;
  times.enqueued = issued.enqueued;
  times.start = std::max(issued.enqueued, clock_.ToTicks(record.start_ns));
  times.end = std::max(times.start, clock_.ToTicks(record.end_ns));
  if (times.enqueued == 0) times.enqueued = times.start;
  switch (record.kind) {
    case DeviceRecord::Kind::kKernel:
      return track.Kernel(record.name, issued.batch, number, issued.graph, times);
    case DeviceRecord::Kind::kCopy: {
      CopyRequest copy;
      copy.direction = record.direction;
      copy.bytes = record.bytes;
      copy.batch = issued.batch;
      return track.Copy(copy, record.memory, number, times);
    }
    case DeviceRecord::Kind::kMemset:
      track.Span(trace::SpanActivity::kMemset, "memset", times.start, times.end);
  }
}

void RecordSorter::Write(bool all) {
  // Those of one track must be in the order of their ends.
  std::sort(waiting_.begin(), waiting_.end(),
            [](const DeviceRecord& a, const DeviceRecord& b) { return a.end_ns < b.end_ns; });
  std::vector<DeviceRecord> kept;
  for (DeviceRecord& record : waiting_) {
    const uint64_t* number = NumberOf(record.correlation);
    const auto issued = number != nullptr ? work_.Find(*number) : std::nullopt;
    if (issued && issued->track != nullptr) {
      WriteRecord(*issued->track, record, *number, *issued);
    } else if (all || number != nullptr) {
      WriteRecord(OtherWork(record.device), record, number != nullptr ? *number : 0, {});
    } else {
      kept.push_back(std::move(record));
    }
  }
  waiting_ = std::move(kept);
  for (auto& [key, calls] : calls_) {
    std::sort(calls.waiting.begin(), calls.waiting.end(),
              [](const Call& a, const Call& b) { return a.end < b.end; });
    for (const Call& call : std::exchange(calls.waiting, {})) {
      calls.track->Span(call.activity, call.name, call.start, call.end);
    }
  }
}

void RecordSorter::Lose(uint64_t count) {
  if (count == 0) return;
  const Ticks now = NowTicks();
  OtherWork(0).Lost(count, last_lost_ == 0 ? now : last_lost_, now);
  last_lost_ = now;
  lost_ += count;
}

}  // namespace stallscope::device::cuda
