#include "analyzer/importers/foreign/host_events.h"

#include "analyzer/importers/foreign/beside_steps.h"
#include "analyzer/importers/foreign/tf_data.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "analyzer/trace/limits.h"

namespace stallscope::importers {
namespace {

// One word: no path, no op with its type, no call with arguments.
bool IsWord(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
}

constexpr size_t kLeastCalls = 3;
// Fewer waits for batches could all belong to one step.
constexpr size_t kEnoughWaits = 3;

// By start, enclosing events first.
void SortByStart(std::vector<HostEvent>& events) {
  std::stable_sort(events.begin(), events.end(), [](const HostEvent& a, const HostEvent& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
}

size_t CountRole(const HostThread& thread, HostRole role) {
  return static_cast<size_t>(
      std::count_if(thread.events.begin(), thread.events.end(),
                    [role](const HostEvent& event) { return event.role == role; }));
}

// Those of one role, by time.
std::vector<HostEvent> OfRole(const HostThread& thread, HostRole role) {
  std::vector<HostEvent> events;
  for (const HostEvent& event : thread.events) {
    if (event.role == role) events.push_back(event);
  }
  SortByStart(events);
  return events;
}

StepMark MarkOf(const HostEvent& event, uint64_t index, TrackId track) {
  StepMark mark;
  mark.index = index;
  mark.start_ns = event.start_ns;
  mark.end_ns = event.end_ns;
  mark.track = track;
  return mark;
}

// Its index in HostEvents::threads; their number if no thread looks like one.
size_t FindTrainer(const HostEvents& host) {
  // The first of these that any thread has; of several threads the one that has most of it.
  constexpr std::array kSigns = {HostRole::kStep, HostRole::kCall, HostRole::kGetNext};
  for (const HostRole sign : kSigns) {
    size_t best = host.threads.size();
    size_t most = 0;
    for (size_t i = 0; i < host.threads.size(); ++i) {
      const size_t count = CountRole(host.threads[i], sign);
      if (count > most) {
        most = count;
        best = i;
      }
    }
    if (most > 0) return best;
  }
  return host.threads.size();
}

// The steps of the trainer that have a number.
std::vector<StepMark> NumberedSteps(const HostEvents& host, size_t trainer) {
  std::vector<StepMark> marks;
  if (trainer >= host.threads.size()) return marks;
  const HostThread& thread = host.threads[trainer];
  const std::vector<HostEvent> steps = OfRole(thread, HostRole::kStep);
  const auto named = [&](std::string_view name) {
    return [&host, name](const HostEvent& step) { return host.names[step.name] == name; };
  };
  const bool of_keras = std::any_of(steps.begin(), steps.end(), named(kKerasTrain));
  for (const HostEvent& step : steps) {
    if (of_keras && named(kKerasTest)(step)) continue;  // evaluation
    marks.push_back(MarkOf(step, step.id, thread.track));
  }
  return marks;
}

struct CalledSteps {
  std::string function;
  std::vector<StepMark> marks;
};
// At least three calls of one function; of several the one that took longest. Each lasts to the
// next.
std::optional<CalledSteps> StepsOfCalls(const HostEvents& host, size_t trainer) {
  if (trainer >= host.threads.size()) return std::nullopt;
  const HostThread& thread = host.threads[trainer];
  struct Function {
    std::vector<StepMark> marks;
    std::vector<int64_t> durations;
  };
  std::map<uint32_t, Function> functions;
  int64_t outermost_until = INT64_MIN;
  for (const HostEvent& call : OfRole(thread, HostRole::kCall)) {
    if (call.start_ns < outermost_until) continue;
    outermost_until = call.end_ns;
    Function& function = functions[call.name];
    function.durations.push_back(call.end_ns - call.start_ns);
    function.marks.push_back(MarkOf(call, function.marks.size(), thread.track));
  }
  std::optional<CalledSteps> best;
  double most_ns = -1;
  for (auto& [name, function] : functions) {
    if (function.marks.size() < kLeastCalls) continue;
    // By the median: a compiling first call would outweigh a thousand others.
    const size_t middle = function.durations.size() / 2;
    std::nth_element(function.durations.begin(),
                     function.durations.begin() + static_cast<std::ptrdiff_t>(middle),
                     function.durations.end());
    const double ns = static_cast<double>(function.durations[middle]) *
                      static_cast<double>(function.durations.size());
    if (ns <= most_ns) continue;
    most_ns = ns;
    best = CalledSteps{host.names[name], std::move(function.marks)};
  }
  if (!best) return best;
  for (size_t i = 0; i + 1 < best->marks.size(); ++i) {
    best->marks[i].end_ns = best->marks[i + 1].start_ns;
  }
  return best;
}

// "Iterator::Map": the iterator's own name without its place.
bool IsFlat(std::string_view path) { return path.find("::") == path.rfind("::"); }

// Some profilers write an iterator's own name without its path or a number. Numbers those by name,
// as their own profiler would, and takes the enclosing call on the thread for the one that asks.
void NumberFlatIterators(HostEvents& host) {
  for (HostThread& thread : host.threads) {
    SortByStart(thread.events);
    std::vector<const HostEvent*> open;
    for (HostEvent& event : thread.events) {
      if (event.role != HostRole::kIterator) continue;
      while (!open.empty() && open.back()->end_ns < event.end_ns) open.pop_back();
      if (event.id == 0 && event.parent == 0 && IsFlat(host.names[event.name])) {
        event.id = event.name + 1;
        if (!open.empty() && open.back()->name != event.name) event.parent = open.back()->id;
      }
      open.push_back(&event);
    }
  }
}

void Learn(const HostArguments& said, IteratorFacts& facts) {
  if (said.parallelism) {
    facts.parallelism = static_cast<uint32_t>(std::min<uint64_t>(*said.parallelism, UINT16_MAX));
  }
  if (said.buffer) facts.buffer = *said.buffer;
  if (said.batch) facts.batch = *said.batch;
  if (said.shapes) facts.shapes = said.shapes->substr(0, trace::kMaxSettingBytes);
  if (said.types) facts.types = said.types->substr(0, trace::kMaxSettingBytes);
  if (said.drop_remainder) facts.drop_remainder = *said.drop_remainder;
  if (said.cycle_length) facts.cycle_length = *said.cycle_length;
  if (said.block_length) facts.block_length = *said.block_length;
  if (said.num_shards) facts.num_shards = *said.num_shards;
  if (said.deterministic) facts.deterministic = said.deterministic;
  if (said.tuned) facts.tuned = *said.tuned;
}

}  // namespace

HostRole RoleOfEvent(std::string_view name) {
  // Wraps every pipeline; not an operator.
  if (name == "Iterator::Root") return HostRole::kNone;
  if (name.starts_with("Iterator::")) return HostRole::kIterator;
  if (name.starts_with("IteratorGetNext") && name.ends_with("::DoCompute")) {
    return HostRole::kGetNext;
  }
  if (name == "FunctionRun") return HostRole::kRunGraph;
  if (name == "ExecutorState::Process" || name == "ExecutorDoneCallback") return HostRole::kExecute;
  if (name.starts_with("PjitFunction(")) return HostRole::kCall;
  if (name.ends_with("Client::Compile") || name.ends_with("Client::CompileAndLoad")) {
    return HostRole::kCompile;
  }
  if (name.ends_with("Produce") && IsWord(name)) return HostRole::kProduce;
  if (name.ends_with("Consume") && IsWord(name)) return HostRole::kConsume;
  return HostRole::kNone;
}

std::string IteratorPath(std::string_view name) {
  std::string path;
  for (size_t i = 0; i < name.size() && name[i] != '#'; ++i) {
    if (name[i] == '[') {
      const size_t close = name.find(']', i);
      if (close == std::string_view::npos) break;
      i = close;
      continue;
    }
    path += name[i];
  }
  return path;
}

std::string IteratorKind(std::string_view path) {
  const size_t colons = path.rfind("::");
  return std::string(colons == std::string_view::npos ? path : path.substr(colons + 2));
}

uint64_t LeadingSize(std::string_view shapes) {
  uint64_t size = 0;
  if (shapes.size() < 2 || shapes[0] != '[') return 0;
  std::from_chars(shapes.data() + 1, shapes.data() + shapes.size(), size);
  return size;
}

HostRole HostRecord::Note(HostThread& thread, HostRole by_name, const HostArguments& said,
                          int64_t start_ns, int64_t end_ns) {
  // An iterator remains one whatever it says.
  if (by_name == HostRole::kIterator) return by_name;
  const Occurrence one{start_ns, end_ns - start_ns};
  const auto count = [&](std::vector<Occurrence>& all) {
    builder_.allowance().Charge(sizeof one);
    all.push_back(one);
  };
  if (said.call ? said.call->starts_with("traced") : by_name == HostRole::kCompile) {
    count(compilations_);
  }
  if (said.eager && !said.function) count(thread.eager_ops);
  if (said.step) return HostRole::kStep;
  if (said.call) return HostRole::kCall;
  return by_name == HostRole::kCompile ? HostRole::kNone : by_name;
}

uint32_t HostRecord::NameOf(HostRole by_name, std::string text) {
  if (by_name == HostRole::kIterator) text = IteratorPath(text);
  const auto [place, fresh] = names_.try_emplace(text, static_cast<uint32_t>(events_.names.size()));
  if (fresh) {
    builder_.allowance().ChargeText(sizeof(IteratorFacts) + 3 * text.size());
    // Shapes and types, kept here and in the run: any iterator may refer to the same long text.
    if (by_name == HostRole::kIterator) builder_.allowance().Charge(4 * trace::kMaxSettingBytes);
    events_.facts.emplace_back().kind = IteratorKind(text);
    events_.names.push_back(std::move(text));
  }
  return place->second;
}

void HostRecord::Keep(HostThread& thread, HostRole role, uint32_t name, const HostArguments& said,
                      int64_t start_ns, int64_t end_ns) {
  builder_.allowance().Charge(sizeof(HostEvent));
  HostEvent& event = thread.events.emplace_back();
  event.start_ns = start_ns;
  event.end_ns = end_ns;
  event.role = role;
  event.name = name;
  event.id = said.step.value_or(0);
  event.parent = said.parent;
  event.produced = said.produced;
  event.consumed = said.consumed;
  if (role == HostRole::kIterator) {
    event.id = said.id;
    Learn(said, events_.facts[name]);
  }
}

namespace {

// The trainer's, if it is known: functions in Python that a pipeline calls run theirs in its
// threads.
std::vector<Occurrence> EagerOps(HostEvents& host, size_t trainer) {
  if (trainer < host.threads.size()) return std::move(host.threads[trainer].eager_ops);
  std::vector<Occurrence> all;
  for (const HostThread& thread : host.threads) {
    all.insert(all.end(), thread.eager_ops.begin(), thread.eager_ops.end());
  }
  return all;
}

}  // namespace

std::vector<StepMark> HostRecord::Finish(std::vector<StepMark> derived) {
  NumberFlatIterators(events_);
  const size_t trainer = FindTrainer(events_);
  const PipelineSeen pipeline = AddPipeline(events_, trainer, builder_);
  has_pipeline_ = pipeline.any;
  samples_per_batch_ = pipeline.samples_per_batch;
  builder_.AddTotals("eager ops", EagerOps(events_, trainer));
  builder_.AddTotals("compilations", std::move(compilations_));
  std::vector<StepMark> marks = NumberedSteps(events_, trainer);
  if (marks.empty()) marks = std::move(derived);
  if (marks.empty() && BatchWaits(builder_.run()).size() < kEnoughWaits) {
    if (auto called = StepsOfCalls(events_, trainer)) {
      builder_.Limit("steps: this file marks none; each call of " + called->function +
                     " begins one");
      marks = std::move(called->marks);
    }
  }
  for (StepMark& mark : marks) mark.samples = samples_per_batch_;
  return marks;
}

}  // namespace stallscope::importers
