#include "analyzer/importers/chrome/tensorflow_host.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "analyzer/importers/chrome/json_text.h"
#include "analyzer/importers/foreign/host_steps.h"
#include "analyzer/trace/limits.h"

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

// What an event's arguments say; they are called as the profiler calls its statistics.
struct Said {
  std::optional<uint64_t> step;
  std::optional<std::string_view> call;  // of a tf.function, and whether it was traced for it
  bool eager = false;
  bool function = false;
  uint64_t id = 0;
  uint64_t parent = 0;
  uint64_t produced = 0;
  uint64_t consumed = 0;
  std::optional<uint64_t> parallelism;
  std::optional<uint64_t> buffer;
  std::optional<uint64_t> batch;
  std::optional<uint64_t> leading_size;
  std::optional<bool> deterministic;
};

void TakeArgument(std::string_view key, std::string_view value, Said& said) {
  if (key == "id") {
    said.id = NumberIn(value);
  } else if (key == "parent_id") {
    said.parent = NumberIn(value);
  } else if (key == "_p") {
    said.produced = NumberIn(value);
  } else if (key == "_c") {
    said.consumed = NumberIn(value);
  } else if (key == "step_num") {
    said.step = NumberIn(value);
  } else if (key == "tf_function_call") {
    said.call = value;
  } else if (key == "eager_op") {
    said.eager = true;
  } else if (key == "is_func") {
    said.function = value != "0" && value != "false";
  } else if (key == "parallelism") {
    said.parallelism = NumberIn(value);
  } else if (key == "buffer_limit") {
    said.buffer = NumberIn(value);
  } else if (key == "batch_size") {
    said.batch = NumberIn(value);
  } else if (key == "shapes") {
    said.leading_size = LeadingSize(value);
  } else if (key == "deterministic") {
    said.deterministic = value != "false";
  }
}

Said WhatIsSaid(const Event& event) {
  Said said;
  ForEachArgument(event, [&](std::string_view key, size_t place) {
    TakeArgument(key, event.text->ScalarAt(place).text, said);
  });
  return said;
}

// An iterator stays one whatever it says.
HostRole RoleOf(HostRole by_name, const Said& said) {
  if (by_name == HostRole::kIterator) return by_name;
  if (said.step) return HostRole::kStep;
  return said.call ? HostRole::kCall : by_name;
}

bool Compiles(HostRole by_name, const Said& said) {
  if (by_name == HostRole::kIterator) return false;
  return said.call ? said.call->substr(0, 6) == "traced" : by_name == HostRole::kCompile;
}

void Learn(const Said& said, IteratorFacts& facts) {
  if (said.parallelism) {
    facts.parallelism = static_cast<uint32_t>(std::min<uint64_t>(*said.parallelism, UINT16_MAX));
  }
  if (said.buffer) facts.buffer = *said.buffer;
  if (said.batch) facts.batch = *said.batch;
  if (said.leading_size) facts.leading_size = *said.leading_size;
  if (said.deterministic) facts.deterministic = said.deterministic;
}

}  // namespace

TensorFlowHost::Name& TensorFlowHost::NameOf(std::string_view text) {
  uint32_t& place = known_.At(CutName(text), 0);
  if (place == TextTable::kNew) {
    place = static_cast<uint32_t>(names_.size());
    names_.push_back({RoleOfEvent(text), std::nullopt});
  }
  return names_[place];
}

uint32_t TensorFlowHost::Keep(std::string_view text, Name& name) {
  if (name.kept) return *name.kept;
  std::string key = Unescaped(CutName(text));
  if (name.role == HostRole::kIterator) key = IteratorPath(key);
  const auto [place, fresh] = kept_.try_emplace(key, static_cast<uint32_t>(host_.names.size()));
  if (fresh) {
    builder_.allowance().ChargeText(sizeof(IteratorFacts) + 3 * key.size());
    host_.facts.emplace_back().kind = IteratorKind(key);
    host_.names.push_back(std::move(key));
  }
  name.kept = place->second;
  return place->second;
}

HostThread& TensorFlowHost::ThreadOf(uint32_t lane) {
  if (lane >= threads_.size()) threads_.resize(lane + 1);
  if (threads_[lane] == 0) {
    host_.threads.emplace_back();
    lanes_.push_back(lane);
    threads_[lane] = host_.threads.size();
  }
  return host_.threads[threads_[lane] - 1];
}

void TensorFlowHost::Add(const Event& event, uint32_t lane, int64_t start_ns, int64_t end_ns) {
  Name& name = NameOf(event.name);
  const Said said = WhatIsSaid(event);
  const HostRole role = RoleOf(name.role, said);
  // A time and a duration that may be may give an end that may not.
  end_ns = std::max(start_ns, trace::ClampTime(end_ns));
  const Occurrence one{start_ns, end_ns - start_ns};
  builder_.allowance().Charge(sizeof(HostEvent));
  if (Compiles(name.role, said)) compilations_.push_back(one);
  if (role != HostRole::kIterator && said.eager && !said.function) eager_ops_.push_back(one);
  if (role == HostRole::kNone || role == HostRole::kCompile) return;
  HostEvent kept;
  kept.start_ns = start_ns;
  kept.end_ns = end_ns;
  kept.role = role;
  kept.name = Keep(event.name, name);
  kept.parent = said.parent;
  kept.produced = said.produced;
  kept.consumed = said.consumed;
  if (said.step) kept.id = *said.step;
  if (role == HostRole::kIterator) {
    kept.id = said.id;
    Learn(said, host_.facts[kept.name]);
  }
  ThreadOf(lane).events.push_back(kept);
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
