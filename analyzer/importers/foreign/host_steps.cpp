#include "analyzer/importers/foreign/host_steps.h"

#include <algorithm>
#include <array>
#include <map>

namespace stallscope::importers {
namespace {

constexpr size_t kLeastCalls = 3;

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
  std::stable_sort(events.begin(), events.end(), [](const HostEvent& a, const HostEvent& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
  return events;
}

}  // namespace

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

std::vector<StepMark> NumberedSteps(const HostEvents& host, size_t trainer) {
  std::vector<StepMark> marks;
  if (trainer >= host.threads.size()) return marks;
  const HostThread& thread = host.threads[trainer];
  for (const HostEvent& step : OfRole(thread, HostRole::kStep)) {
    StepMark mark;
    mark.index = step.id;
    mark.start_ns = step.start_ns;
    mark.end_ns = step.end_ns;
    mark.track = thread.track;
    marks.push_back(mark);
  }
  return marks;
}

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
    StepMark mark;
    mark.index = function.marks.size();
    mark.start_ns = call.start_ns;
    mark.end_ns = call.end_ns;
    mark.track = thread.track;
    function.marks.push_back(mark);
  }
  std::optional<CalledSteps> best;
  double most_ns = -1;
  for (auto& [name, function] : functions) {
    if (function.marks.size() < kLeastCalls) continue;
    // By the median: a first call that compiles would outweigh a thousand others.
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

}  // namespace stallscope::importers
