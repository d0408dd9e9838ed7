#include "analyzer/importers/chrome/tensorflow_host.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "analyzer/importers/chrome/json_text.h"
#include "analyzer/importers/foreign/host_steps.h"

namespace stallscope::importers::chrome {
namespace {

// As few waits for batches could be those of one step.
constexpr size_t kEnoughWaits = 3;

uint64_t NumberIn(std::string_view text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// "Iterator::Map": the iterator's own name, and not where it stands.
bool IsFlat(std::string_view path) { return path.find("::") == path.rfind("::"); }

}  // namespace

uint32_t TensorFlowHost::Keep(std::string_view text, HostRole role) {
  std::string key(Unescaped(text));
  if (role == HostRole::kIterator) key = IteratorPath(key);
  const auto found = std::find(host_.names.begin(), host_.names.end(), key);
  if (found != host_.names.end()) return static_cast<uint32_t>(found - host_.names.begin());
  host_.names.push_back(key);
  host_.facts.emplace_back().kind = IteratorKind(key);
  return static_cast<uint32_t>(host_.names.size() - 1);
}

TensorFlowHost::Name TensorFlowHost::NameOf(std::string_view text) {
  uint32_t& place = known_.At(text, 0);
  if (place == TextTable::kNew) {
    place = static_cast<uint32_t>(names_.size());
    Name name;
    name.role = RoleOfEvent(text);
    if (name.role != HostRole::kNone) name.name = Keep(text, name.role);
    names_.push_back(name);
  }
  return names_[place];
}

// The arguments are called as the profiler calls its statistics.
void TensorFlowHost::Take(const Event& event, HostEvent& kept) {
  IteratorFacts unused;
  IteratorFacts& facts = kept.role == HostRole::kIterator ? host_.facts[kept.name] : unused;
  ForEachArgument(event, [&](std::string_view key, size_t place) {
    const std::string_view value = event.text->ScalarAt(place).text;
    if (key == "id" && kept.role == HostRole::kIterator) {
      kept.id = NumberIn(value);
    } else if (key == "parent_id") {
      kept.parent = NumberIn(value);
    } else if (key == "_p") {
      kept.produced = NumberIn(value);
    } else if (key == "_c") {
      kept.consumed = NumberIn(value);
    } else if (key == "parallelism") {
      facts.parallelism = static_cast<uint32_t>(std::min<uint64_t>(NumberIn(value), UINT16_MAX));
    } else if (key == "buffer_limit") {
      facts.buffer = NumberIn(value);
    } else if (key == "batch_size") {
      facts.batch = NumberIn(value);
    } else if (key == "shapes") {
      facts.leading_size = LeadingSize(value);
    } else if (key == "deterministic") {
      facts.deterministic = value != "false";
    }
  });
}

void TensorFlowHost::Add(const Event& event, uint32_t lane, int64_t start_ns, int64_t end_ns) {
  Name name = NameOf(event.name);
  uint64_t step = 0;
  bool is_step = false;
  bool compiles = name.role == HostRole::kCompile;
  bool eager = false;
  bool function = false;
  if (event.arguments != 0 && name.role != HostRole::kIterator) {
    ForEachArgument(event, [&](std::string_view key, size_t place) {
      if (key == "step_num") {
        is_step = true;
        step = NumberIn(event.text->ScalarAt(place).text);
      } else if (key == "tf_function_call") {
        name.role = HostRole::kCall;
        compiles = event.text->ScalarAt(place).text.substr(0, 6) == "traced";
      } else if (key == "eager_op") {
        eager = true;
      } else if (key == "is_func") {
        const std::string_view value = event.text->ScalarAt(place).text;
        function = value != "0" && value != "false";
      }
    });
    if (is_step) name.role = HostRole::kStep;
    if (name.role != HostRole::kNone && RoleOfEvent(event.name) == HostRole::kNone) {
      name.name = Keep(event.name, name.role);
    }
  }
  const Occurrence one{start_ns, std::max<int64_t>(0, end_ns - start_ns)};
  if (compiles) compilations_.push_back(one);
  if (eager && !function) eager_ops_.push_back(one);
  if (name.role == HostRole::kNone || name.role == HostRole::kCompile) return;
  if (name.role == HostRole::kStep && !is_step) return;
  if (lane >= threads_.size()) threads_.resize(lane + 1);
  if (threads_[lane] == 0) {
    host_.threads.emplace_back();
    lanes_.push_back(lane);
    threads_[lane] = host_.threads.size();
  }
  HostEvent kept;
  kept.start_ns = start_ns;
  kept.end_ns = std::max(start_ns, end_ns);
  kept.role = name.role;
  kept.name = name.name;
  Take(event, kept);
  if (is_step) kept.id = step;
  host_.threads[threads_[lane] - 1].events.push_back(kept);
}

// Numbers for iterators that have none, by their names: as their own profiler would number them.
void TensorFlowHost::FindParents() {
  for (HostThread& thread : host_.threads) {
    std::stable_sort(
        thread.events.begin(), thread.events.end(), [](const HostEvent& a, const HostEvent& b) {
          return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
        });
    std::vector<const HostEvent*> open;
    for (HostEvent& event : thread.events) {
      if (event.role != HostRole::kIterator) continue;
      while (!open.empty() && open.back()->end_ns < event.end_ns) open.pop_back();
      if (event.id == 0 && event.parent == 0 && IsFlat(host_.names[event.name])) {
        event.id = event.name + 1;
        if (!open.empty() && open.back()->name != event.name) event.parent = open.back()->id;
      }
      open.push_back(&event);
    }
  }
}

std::vector<StepMark> TensorFlowHost::Finish(Lanes& lanes, std::vector<StepMark> derived) {
  for (size_t i = 0; i < host_.threads.size(); ++i) {
    const Lane& lane = lanes[lanes_[i]];
    host_.threads[i].name = lane.name.empty() ? "thread " + lane.thread : lane.name;
    host_.threads[i].number = NumberIn(lane.thread);
  }
  FindParents();
  const size_t trainer = FindTrainer(host_);
  pipeline_ = AddPipeline(host_, trainer, builder_);
  std::vector<StepMark> marks = NumberedSteps(host_, trainer);
  if (marks.empty()) marks = std::move(derived);
  if (marks.empty() && BatchWaits(builder_.run()).size() < kEnoughWaits) {
    if (auto called = StepsOfCalls(host_, trainer)) {
      builder_.Limit("steps: this file marks none; each call of " + called->function +
                     " begins one");
      marks = std::move(called->marks);
    }
  }
  AddTotals("compilations", std::move(compilations_), builder_);
  AddTotals("eager ops", std::move(eager_ops_), builder_);
  for (StepMark& mark : marks) mark.samples = pipeline_.samples_per_batch;
  return marks;
}

}  // namespace stallscope::importers::chrome
