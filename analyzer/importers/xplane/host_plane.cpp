#include "analyzer/importers/xplane/host_plane.h"

#include <algorithm>
#include <string_view>

#include "analyzer/trace/limits.h"

namespace stallscope::importers::xplane {
namespace {

using trace::SpanActivity;

// An event with one of these says something about the trainer, whatever its name.
constexpr uint32_t kHostStats = EventStats::Bit(StatRole::kStepNum) |
                                EventStats::Bit(StatRole::kFunctionCall) |
                                EventStats::Bit(StatRole::kEagerOp);

std::string_view Shown(const EventName& name) {
  return name.name.empty() ? std::string_view("(no name)") : std::string_view(name.name);
}

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }

// "cuLaunchKernel", "cudaMemcpyAsync", "hipModuleLaunchKernel".
bool IsRuntimeCall(std::string_view name) {
  for (const std::string_view start : {"cuda", "cu", "hip"}) {
    if (name.size() > start.size() && name.substr(0, start.size()) == start &&
        IsUpper(name[start.size()])) {
      return true;
    }
  }
  return false;
}

// "Conv2D_1/ReadVariableOp:ReadVariableOp": an op's name and type.
bool IsOperator(std::string_view name) {
  const size_t colon = name.rfind(':');
  return colon != std::string_view::npos && colon > 0 && colon + 1 < name.size() &&
         name[colon - 1] != ':' && IsUpper(name[colon + 1]);
}

SpanActivity ActivityOf(std::string_view name, const EventStats& stats) {
  if (stats.Has(StatRole::kStepNum)) return SpanActivity::kAnnotation;
  if (stats.Has(StatRole::kCorrelation) || IsRuntimeCall(name)) return SpanActivity::kRuntime;
  if (stats.Has(StatRole::kHloOp) || IsOperator(name)) return SpanActivity::kOperator;
  return SpanActivity::kFunction;
}

HostArguments ArgumentsOf(const EventStats& stats) {
  HostArguments said;
  const auto number = [&](StatRole role, std::optional<uint64_t>& into) {
    if (stats.Has(role)) into = stats.Number(role);
  };
  number(StatRole::kStepNum, said.step);
  number(StatRole::kParallelism, said.parallelism);
  number(StatRole::kBufferLimit, said.buffer);
  number(StatRole::kBufferSize, said.buffer);
  number(StatRole::kBatchSize, said.batch);
  if (stats.Has(StatRole::kFunctionCall)) said.call = stats.Text(StatRole::kFunctionCall);
  number(StatRole::kCycleLength, said.cycle_length);
  number(StatRole::kBlockLength, said.block_length);
  number(StatRole::kNumShards, said.num_shards);
  if (stats.Has(StatRole::kShapes)) said.shapes = stats.Text(StatRole::kShapes);
  if (stats.Has(StatRole::kTypes)) said.types = stats.Text(StatRole::kTypes);
  if (stats.Has(StatRole::kDropRemainder)) {
    said.drop_remainder = stats.Text(StatRole::kDropRemainder) == "true";
  }
  if (stats.Has(StatRole::kDeterministic)) {
    said.deterministic = stats.Text(StatRole::kDeterministic) != "false";
  }
  if (stats.Has(StatRole::kAutotune)) said.tuned = stats.Text(StatRole::kAutotune) == "true";
  said.eager = stats.Has(StatRole::kEagerOp);
  said.function = stats.Number(StatRole::kIsFunction) != 0;
  said.id = stats.Number(StatRole::kId);
  said.parent = stats.Number(StatRole::kParentId);
  said.produced = stats.Number(StatRole::kProducer);
  said.consumed = stats.Number(StatRole::kConsumer);
  return said;
}

}  // namespace

HostPlanes::Kind HostPlanes::Learn(const EventName& name, const EventStats& stats) {
  Kind kind;
  kind.known = true;
  kind.role = RoleOfEvent(name.name);
  kind.span_class = builder_.Detail(ActivityOf(name.name, stats), builder_.Intern(Shown(name)));
  return kind;
}

void HostPlanes::Take(const EventName& name, const EventStats& stats, int64_t start_ns,
                      int64_t end_ns, Kind& kind, HostThread& thread) {
  // Whatever enters a calculation must be a time, as the span has become one.
  const int64_t from = trace::ClampTime(start_ns);
  const int64_t to = std::max(from, trace::ClampTime(end_ns));
  const HostArguments said = ArgumentsOf(stats);
  const HostRole role = host_.Note(thread, kind.role, said, from, to);
  if (role == HostRole::kNone) return;
  if (!kind.kept) kind.kept = host_.NameOf(kind.role, std::string(Shown(name)));
  host_.Keep(thread, role, *kind.kept, said, from, to);
}

Status HostPlanes::Add(const Plane& plane) {
  std::vector<Kind> kinds(plane.event_names.values().size());
  const EventName* const first = plane.event_names.values().data();
  const EventName nameless;
  Kind nameless_kind;
  for (const Line& line : plane.lines) {
    if (line.events_from == line.end) continue;
    HostThread& thread = host_.events().threads.emplace_back();
    thread.name = line.name.empty() ? plane.name : line.name;
    thread.number = static_cast<uint64_t>(line.id);
    const TrackId detail = builder_.DetailTrack(thread.name, thread.number);
    const int64_t origin = times_.OriginNs(line);
    uint64_t aggregated = 0;
    const auto take = [&](const Event& event, const EventStats& stats) {
      if (event.aggregated) {
        ++aggregated;
        return;
      }
      const EventName* name = plane.event_names.Find(event.name);
      Kind& kind = name == nullptr ? nameless_kind : kinds[static_cast<size_t>(name - first)];
      if (name == nullptr) name = &nameless;
      // Of a name's events some may be numbered steps: those are annotations.
      if (!kind.known || (stats.Has(StatRole::kStepNum) && !kind.step)) {
        kind = Learn(*name, stats);
        kind.step = stats.Has(StatRole::kStepNum);
      }
      const int64_t start = TimeBase::StartNs(origin, event);
      const int64_t end = TimeBase::EndNs(origin, event);
      builder_.AddSpan(detail, kind.span_class, start, end);
      if (stats.Has(StatRole::kCorrelation)) {
        builder_.allowance().Charge(Launches::kCallBytes);
        launches_.Add(stats.Number(StatRole::kCorrelation), start);
      }
      if (kind.role != HostRole::kNone || stats.HasAny(kHostStats)) {
        Take(*name, stats, start, end, kind, thread);
      }
    };
    STALLSCOPE_RETURN_IF_ERROR(ReadLine(bytes_, plane, line, builder_, take));
    builder_.Count("{event is a total|events are totals} without a timestamp: left out",
                   aggregated);
  }
  return {};
}

}  // namespace stallscope::importers::xplane
