#include "analyzer/importers/xplane/device_plane.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "analyzer/importers/foreign/copies.h"
#include "analyzer/importers/xplane/line_events.h"

namespace stallscope::importers::xplane {
namespace {

bool IsStream(const Line& line) { return line.name.starts_with("Stream #"); }

// Derived from other lines' events, or not the device's time.
bool IsDerived(std::string_view line) {
  constexpr std::array<std::string_view, 15> kNames = {"Steps",
                                                       "XLA Modules",
                                                       "TensorFlow Ops",
                                                       "TensorFlow Name Scope",
                                                       "Framework Ops",
                                                       "Framework Name Scope",
                                                       "Source code",
                                                       "Launch Stats",
                                                       "XLA TraceMe",
                                                       "Host Offload Ops",
                                                       "Sparse Core Steps",
                                                       "Sparse Core Modules",
                                                       "Sparse Core Syncs",
                                                       "Tensor Core Sync Flag",
                                                       "_counters_"};
  return std::find(kNames.begin(), kNames.end(), line) != kNames.end();
}

// 4 of "/device:GPU:4", 0 of "/device:TPU:0 SparseCore 1".
uint32_t DeviceNumber(std::string_view plane) {
  const size_t type = plane.find(':');
  const size_t colon = type == std::string_view::npos ? type : plane.find(':', type + 1);
  uint32_t number = 0;
  if (colon != std::string_view::npos) {
    std::from_chars(plane.data() + colon + 1, plane.data() + plane.size(), number);
  }
  return number;
}

std::string_view ShownName(const EventName* name) {
  if (name == nullptr) return "(no name)";
  return name->display_name.empty() ? std::string_view(name->name)
                                    : std::string_view(name->display_name);
}

struct Op {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  trace::StringId name;
};

}  // namespace

bool IsDevicePlane(const Plane& plane) {
  if (!plane.name.starts_with("/device:")) return false;
  if (!plane.name.starts_with("/device:CUSTOM:")) return true;
  return std::any_of(plane.lines.begin(), plane.lines.end(),
                     [](const Line& line) { return IsStream(line) || line.name == "XLA Ops"; });
}

Status DevicePlanes::Add(const Plane& plane) {
  names_.assign(plane.event_names.values().size(), trace::StringId::None());
  const uint32_t device = DeviceNumber(plane.name);
  const bool streams = std::any_of(plane.lines.begin(), plane.lines.end(), IsStream);
  for (const Line& line : plane.lines) {
    if (line.events_from == line.end) continue;
    if (line.name == "Steps") {
      STALLSCOPE_RETURN_IF_ERROR(AddMarks(plane, line));
    } else if (streams && IsStream(line)) {
      STALLSCOPE_RETURN_IF_ERROR(AddStream(plane, line, device));
    } else if (!streams && !IsDerived(line.name)) {
      STALLSCOPE_RETURN_IF_ERROR(AddOps(plane, line, device));
    }
  }
  return {};
}

trace::StringId DevicePlanes::NameOf(const Plane& plane, const EventName* name) {
  if (name == nullptr) return builder_.Intern(ShownName(name));
  trace::StringId& id = names_[static_cast<size_t>(name - plane.event_names.values().data())];
  if (!id.known()) id = builder_.Intern(ShownName(name));
  return id;
}

TrackId DevicePlanes::TrackOf(const Line& line, uint32_t device) {
  return builder_.StreamTrack(line.name.empty() ? "line " + std::to_string(line.id) : line.name,
                              device, static_cast<uint64_t>(line.id));
}

Status DevicePlanes::AddStream(const Plane& plane, const Line& line, uint32_t device) {
  const TrackId track = TrackOf(line, device);
  const int64_t origin = times_.OriginNs(line);
  uint64_t aggregated = 0;
  const auto take = [&](const Event& event, const EventStats& stats) {
    if (event.aggregated) {
      ++aggregated;
      return;
    }
    const EventName* const name = plane.event_names.Find(event.name);
    const std::string_view text = name == nullptr ? std::string_view() : name->name;
    const int64_t start = TimeBase::StartNs(origin, event);
    const int64_t end = TimeBase::EndNs(origin, event);
    const uint64_t correlation = stats.Number(StatRole::kCorrelation);
    const CopyDetails details = ReadCopyDetails(stats.Text(StatRole::kMemcpyDetails));
    if (const auto direction = DirectionOf(text, details)) {
      auto copy = DeviceRow<trace::Copy>(track, correlation, start, end);
      copy.enqueued_ns = launches_.StartOf(correlation);
      copy.bytes = details.bytes;
      copy.direction = *direction;
      copy.memory = MemoryOf(*direction, details);
      builder_.Add(copy);
    } else if (text.starts_with("Memset") || text.starts_with("memset")) {
      builder_.AddSpan(track, builder_.Detail(trace::SpanActivity::kMemset, NameOf(plane, name)),
                       start, end);
    } else {
      auto kernel = DeviceRow<trace::Kernel>(track, correlation, start, end);
      kernel.enqueued_ns = launches_.StartOf(correlation);
      kernel.graph = stats.Number(StatRole::kGraph);
      kernel.name = NameOf(plane, name);
      builder_.Add(kernel);
    }
  };
  STALLSCOPE_RETURN_IF_ERROR(ReadLine(bytes_, plane, line, builder_, take));
  builder_.Count("{event is a total|events are totals} without a timestamp: left out", aggregated);
  return {};
}

Status DevicePlanes::AddOps(const Plane& plane, const Line& line, uint32_t device) {
  const int64_t origin = times_.OriginNs(line);
  std::vector<Op> ops;
  const auto take = [&](const Event& event, const EventStats&) {
    if (event.aggregated) return;
    const int64_t start = TimeBase::StartNs(origin, event);
    const int64_t end = TimeBase::EndNs(origin, event);
    builder_.allowance().Charge(sizeof(Op));
    ops.push_back({start, std::max(start, end), NameOf(plane, plane.event_names.Find(event.name))});
  };
  STALLSCOPE_RETURN_IF_ERROR(ReadLine(bytes_, plane, line, builder_, take));
  std::stable_sort(ops.begin(), ops.end(), [](const Op& a, const Op& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
  const TrackId track = TrackOf(line, device);
  const auto add = [&](const Op& op, int64_t from, int64_t to) {
    auto kernel = DeviceRow<trace::Kernel>(track, 0, from, to);
    kernel.name = op.name;
    builder_.Add(kernel);
  };
  struct Open {
    size_t op;
    int64_t told_until;
    bool whole;
  };
  std::vector<Open> open;
  const auto close = [&] {
    const Open done = open.back();
    open.pop_back();
    const Op& op = ops[done.op];
    if (done.whole || done.told_until < op.end_ns) add(op, done.told_until, op.end_ns);
    if (!open.empty()) {
      open.back().told_until = std::max(open.back().told_until, op.end_ns);
    }
  };
  for (size_t i = 0; i < ops.size(); ++i) {
    while (!open.empty() && ops[open.back().op].end_ns <= ops[i].start_ns) close();
    if (!open.empty()) {
      Open& around = open.back();
      if (around.told_until < ops[i].start_ns) {
        add(ops[around.op], around.told_until, ops[i].start_ns);
        around.told_until = ops[i].start_ns;
      }
      around.whole = false;
    }
    open.push_back({i, ops[i].start_ns, true});
  }
  while (!open.empty()) close();
  return {};
}

Status DevicePlanes::AddMarks(const Plane& plane, const Line& line) {
  const int64_t origin = times_.OriginNs(line);
  const auto take = [&](const Event& event, const EventStats& stats) {
    builder_.allowance().Charge(sizeof(StepMark));
    StepMark mark;
    mark.index = stats.Number(StatRole::kGroupId);
    const EventName* const name = plane.event_names.Find(event.name);
    if (name != nullptr) {
      const std::string& text = name->name;
      uint64_t number = 0;
      const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
      if (read.ec == std::errc() && read.ptr == text.data() + text.size()) mark.index = number;
    }
    mark.start_ns = TimeBase::StartNs(origin, event);
    mark.end_ns = std::max(mark.start_ns, TimeBase::EndNs(origin, event));
    marks_.push_back(mark);
  };
  return ReadLine(bytes_, plane, line, builder_, take);
}

}  // namespace stallscope::importers::xplane
