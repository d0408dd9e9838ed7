#include "analyzer/importers/xplane/host_plane.h"

#include <algorithm>
#include <string_view>

#include "analyzer/trace/limits.h"

namespace stallscope::importers::xplane {
namespace {

using trace::SpanActivity;

constexpr std::string_view kNameless = "(no name)";

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

void Take(const EventStats& stats, IteratorFacts& facts) {
  if (stats.Has(StatRole::kParallelism)) {
    facts.parallelism =
        static_cast<uint32_t>(std::min<uint64_t>(stats.Number(StatRole::kParallelism), UINT16_MAX));
  }
  if (stats.Has(StatRole::kBufferLimit)) facts.buffer = stats.Number(StatRole::kBufferLimit);
  if (stats.Has(StatRole::kBatchSize)) facts.batch = stats.Number(StatRole::kBatchSize);
  if (stats.Has(StatRole::kShapes)) facts.leading_size = LeadingSize(stats.Text(StatRole::kShapes));
  if (stats.Has(StatRole::kDeterministic)) {
    facts.deterministic = stats.Text(StatRole::kDeterministic) != "false";
  }
}

}  // namespace

HostPlanes::Kind HostPlanes::Learn(const EventName& name, const EventStats& stats) {
  const std::string_view shown = name.name.empty() ? kNameless : std::string_view(name.name);
  Kind kind;
  kind.known = true;
  kind.role = RoleOfEvent(name.name);
  if (stats.Has(StatRole::kStepNum)) kind.role = HostRole::kStep;
  if (stats.Has(StatRole::kFunctionCall)) kind.role = HostRole::kCall;
  kind.span_class = builder_.Detail(ActivityOf(name.name, stats), builder_.Intern(shown));
  if (kind.role == HostRole::kNone) return kind;
  const std::string key =
      kind.role == HostRole::kIterator ? IteratorPath(name.name) : std::string(shown);
  const auto [place, fresh] = names_.try_emplace(key, static_cast<uint32_t>(events_.names.size()));
  if (fresh) {
    builder_.allowance().ChargeText(sizeof(IteratorFacts) + 3 * key.size());
    events_.names.push_back(key);
    events_.facts.emplace_back().kind = IteratorKind(key);
  }
  kind.name = place->second;
  return kind;
}

void HostPlanes::Keep(const Kind& kind, const EventStats& stats, int64_t start_ns, int64_t end_ns,
                      HostThread& thread) {
  builder_.allowance().Charge(sizeof(HostEvent));
  HostEvent event;
  event.start_ns = start_ns;
  event.end_ns = end_ns;
  event.role = kind.role;
  event.name = kind.name;
  switch (kind.role) {
    case HostRole::kStep:
      // A name that is a step's may also be something else's.
      if (!stats.Has(StatRole::kStepNum)) return;
      event.id = stats.Number(StatRole::kStepNum);
      break;
    case HostRole::kIterator:
      event.id = stats.Number(StatRole::kId);
      event.parent = stats.Number(StatRole::kParentId);
      Take(stats, events_.facts[kind.name]);
      break;
    case HostRole::kRunGraph:
      event.produced = stats.Number(StatRole::kProducer);
      break;
    case HostRole::kExecute:
      event.consumed = stats.Number(StatRole::kConsumer);
      break;
    case HostRole::kCall: {
      const std::string_view how = stats.Text(StatRole::kFunctionCall);
      if (how.substr(0, 6) == "traced")
        compilations_.push_back({start_ns, event.end_ns - start_ns});
      break;
    }
    case HostRole::kCompile:
      compilations_.push_back({start_ns, event.end_ns - start_ns});
      return;
    default:
      break;
  }
  thread.events.push_back(event);
}

Status HostPlanes::Add(const Plane& plane) {
  std::vector<Kind> kinds(plane.event_names.values().size());
  const EventName* const first = plane.event_names.values().data();
  const EventName nameless;
  Kind nameless_kind;
  for (const Line& line : plane.lines) {
    if (line.events_from == line.end) continue;
    HostThread& thread = events_.threads.emplace_back();
    thread.name = line.name.empty() ? plane.name : line.name;
    thread.number = static_cast<uint64_t>(line.id);
    trace::TrackInfo info;
    info.name = thread.name;
    info.kind = trace::TrackKind::kDetail;
    info.thread = thread.number;
    thread.detail = builder_.Track(info);
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
      // A name's first event may be one that nobody numbered.
      const bool number = stats.Has(StatRole::kStepNum) && kind.role != HostRole::kStep;
      if (!kind.known || number) kind = Learn(*name, stats);
      const int64_t start = TimeBase::StartNs(origin, event);
      const int64_t end = TimeBase::EndNs(origin, event);
      builder_.AddSpan(thread.detail, kind.span_class, start, end);
      if (stats.Has(StatRole::kCorrelation)) {
        builder_.allowance().Charge(Launches::kLaunchBytes);
        launches_.Add(stats.Number(StatRole::kCorrelation), start);
      }
      // What is reckoned with must be a time, as the span has become one.
      const int64_t from = trace::ClampTime(start);
      const int64_t to = std::max(from, trace::ClampTime(end));
      if (stats.Has(StatRole::kEagerOp) && stats.Number(StatRole::kIsFunction) == 0) {
        builder_.allowance().Charge(sizeof(Occurrence));
        eager_ops_.push_back({from, to - from});
      }
      if (kind.role != HostRole::kNone) Keep(kind, stats, from, to, thread);
    };
    STALLSCOPE_ASSIGN_OR_RETURN(const LineRead read,
                                ForEachEvent(bytes_, line, plane.stat_names, take));
    TellFaults(read, line, builder_);
    builder_.Count("events are sums without a place in time: left out", aggregated);
  }
  return {};
}

void TellFaults(const LineRead& read, const Line& line, RunBuilder& builder) {
  if (read.unreadable != 0) {
    builder.LeaveOut("events could not be read: left out", read.unreadable);
  }
  if (read.bad_from != 0) {
    builder.Damaged(read.bad_from, line.end - read.bad_from,
                    "the rest of line '" + line.name + "' is damaged");
  }
}

}  // namespace stallscope::importers::xplane
