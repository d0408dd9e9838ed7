#include "analyzer/importers/foreign/tf_data.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/importers/foreign/iterator_graph.h"
#include "analyzer/model/graph.h"

namespace stallscope::importers {
namespace {

// Pieces of one graph run on one thread that are no further apart are one piece of work: in
// between, the thread fetches the next operation from the pool's queue.
constexpr int64_t kSamePieceNs = 50'000;

size_t Depth(std::string_view path) {
  size_t depth = 0;
  for (size_t at = path.find("::"); at != std::string_view::npos; at = path.find("::", at + 2)) {
    ++depth;
  }
  return depth;
}

// How many iterators of this one's kind take its elements, directly or through others.
size_t NearerTrainer(const std::string& path) {
  const std::string whole = "::" + path + "::";
  const std::string kind = "::" + IteratorKind(path) + "::";
  size_t found = 0;
  for (size_t at = whole.find(kind); at != std::string::npos; at = whole.find(kind, at + 2)) {
    ++found;
  }
  return found - 1;
}

class Pipeline {
 public:
  Pipeline(HostEvents& host, size_t trainer, RunBuilder& builder)
      : host_(host), trainer_(trainer), builder_(builder), graph_(host) {}

  PipelineSeen Run() {
    AddStages();
    for (size_t t = 0; t < host_.threads.size(); ++t) MakeTrack(t);
    for (size_t t = 0; t < host_.threads.size(); ++t) AddSpans(t);
    PipelineSeen seen;
    seen.any = !graph_.nodes().empty();
    seen.samples_per_batch = SamplesPerBatch();
    return seen;
  }

 private:
  // From the source to the trainer, as in specs.
  void AddStages() {
    const std::vector<IteratorNode>& nodes = graph_.nodes();
    std::vector<size_t> order(nodes.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const size_t depth_a = Depth(nodes[a].path);
      const size_t depth_b = Depth(nodes[b].path);
      return depth_a != depth_b ? depth_a > depth_b : nodes[a].path < nodes[b].path;
    });
    stages_.resize(nodes.size());
    std::map<std::string, size_t> names;
    for (const size_t i : order) {
      const IteratorNode& node = nodes[i];
      std::string name = IteratorKind(node.path);
      const size_t number = ++names[name];
      if (number > 1) name += " " + std::to_string(number);
      const auto seen = static_cast<uint32_t>(std::max<size_t>(1, node.calls_at_once));
      uint32_t workers = node.facts.parallelism != 0 ? node.facts.parallelism : seen;
      // The tuner may allow many more calls of a map at once than its pool has threads.
      if (node.facts.tuned && model::BaseOf(node.facts.kind) == "Map") {
        workers = std::min(workers, seen);
      }
      stages_[i] =
          builder_.Stage(name, node.facts.kind, workers, node.facts.deterministic.value_or(true));
    }
    trainer_stage_ = builder_.Stage("trainer", "trainer", 1);
    for (size_t i = 0; i < nodes.size(); ++i) {
      builder_.Connect(stages_[i],
                       nodes[i].asked_by ? stages_[*nodes[i].asked_by] : trainer_stage_);
      if (nodes[i].facts.tuned) builder_.SetTuned(stages_[i]);
      KeepSettings(stages_[i], nodes[i]);
      // A shuffle works on its caller's thread, and has a buffer.
      if (!nodes[i].own_threads && nodes[i].facts.buffer == 0) continue;
      const QueueId queue = builder_.QueueOf(stages_[i]);
      if (nodes[i].facts.buffer != 0) builder_.SetCapacity(queue, nodes[i].facts.buffer);
    }
  }

  void KeepSettings(StageId stage, const IteratorNode& node) {
    const IteratorFacts& facts = node.facts;
    const auto number = [&](const char* name, uint64_t value) {
      if (value != 0) builder_.SetSetting(stage, name, std::to_string(value));
    };
    if (!facts.shapes.empty()) builder_.SetSetting(stage, "shapes", facts.shapes);
    if (!facts.types.empty()) builder_.SetSetting(stage, "types", facts.types);
    if (facts.drop_remainder) {
      builder_.SetSetting(stage, "drop_remainder", *facts.drop_remainder ? "true" : "false");
    }
    number("batch_size", facts.batch);
    number("cycle_length", facts.cycle_length);
    number("block_length", facts.block_length);
    number("num_shards", facts.num_shards);
    number(trace::kNearerTrainer, NearerTrainer(node.path));
  }

  void MakeTrack(size_t t) {
    HostThread& thread = host_.threads[t];
    const std::optional<size_t> node = graph_.NodeOfThread(t);
    const bool asks = std::any_of(thread.events.begin(), thread.events.end(),
                                  [](const auto& e) { return e.role == HostRole::kGetNext; });
    if (t != trainer_ && !node && !asks) return;
    const StageId stage = t == trainer_ ? trainer_stage_ : node ? stages_[*node] : StageId::None();
    thread.track = builder_.ThreadTrack(thread.name, thread.number, stage);
  }

  void AddSpans(size_t t) {
    const HostThread& thread = host_.threads[t];
    if (!thread.track.known()) return;
    int64_t asked_until = INT64_MIN;
    std::optional<size_t> told;  // the call that the trainer's wait stands for
    for (size_t i = 0; i < thread.events.size(); ++i) {
      const HostEvent& event = thread.events[i];
      switch (event.role) {
        case HostRole::kGetNext:
          if (event.start_ns < asked_until) break;  // within another one
          asked_until = event.end_ns;
          told = AddBatchWait(t, i);
          break;
        case HostRole::kIterator: {
          if (told == i) break;
          const size_t node = graph_.NodeOf(event);
          const bool waits = graph_.nodes()[node].own_threads;
          const uint16_t what =
              waits ? builder_.Wait(trace::WaitCause::kEmpty, builder_.QueueOf(stages_[node]))
                    : builder_.Work(stages_[node]);
          builder_.AddSpan(thread.track, what, event.start_ns, event.end_ns);
          break;
        }
        case HostRole::kProduce:
          if (const std::optional<size_t> node = graph_.Producing(t, i)) {
            builder_.AddSpan(thread.track, builder_.Work(stages_[*node]), event.start_ns,
                             event.end_ns);
          }
          break;
        case HostRole::kExecute:
          AddRun(thread, i);
          break;
        default:
          break;
      }
    }
    EndRun(thread);
  }

  // The index of the outermost iterator's event, if the wait stands for it.
  std::optional<size_t> AddBatchWait(size_t t, size_t at) {
    const HostThread& thread = host_.threads[t];
    const HostEvent& asked = thread.events[at];
    size_t first = at + 1;
    while (first < thread.events.size() && thread.events[first].start_ns < asked.end_ns &&
           thread.events[first].role != HostRole::kIterator) {
      ++first;
    }
    const bool found = first < thread.events.size() && thread.events[first].start_ns < asked.end_ns;
    const bool here = t == trainer_ || trainer_ >= host_.threads.size();
    const TrackId track = here ? thread.track : host_.threads[trainer_].track;
    if (!found) {
      // The profiler recorded no iterators, or this one began before it did.
      const StageId input = builder_.Stage("tf.data", "tf.data");
      builder_.Connect(input, trainer_stage_);
      builder_.AddBatchWait(track, input, asked.start_ns, asked.end_ns, false);
      return std::nullopt;
    }
    const size_t node = graph_.NodeOf(thread.events[first]);
    const bool itself = here && !graph_.nodes()[node].own_threads;
    builder_.AddBatchWait(track, stages_[node], asked.start_ns, asked.end_ns, itself);
    return here ? std::optional<size_t>(first) : std::nullopt;
  }

  // Pieces of one run become one span.
  void AddRun(const HostThread& thread, size_t at) {
    const HostEvent& event = thread.events[at];
    const std::optional<size_t> node = graph_.NodeOfRun(event.consumed);
    if (!node) return;
    if (run_ == event.consumed && event.start_ns <= run_end_ns_ + kSamePieceNs) {
      run_end_ns_ = std::max(run_end_ns_, event.end_ns);
      return;
    }
    EndRun(thread);
    run_ = event.consumed;
    run_stage_ = stages_[*node];
    run_start_ns_ = event.start_ns;
    run_end_ns_ = event.end_ns;
  }
  void EndRun(const HostThread& thread) {
    if (run_ != 0)
      builder_.AddSpan(thread.track, builder_.Work(run_stage_), run_start_ns_, run_end_ns_);
    run_ = 0;
  }

  uint32_t SamplesPerBatch() const {
    uint64_t samples = 0;
    size_t depth = SIZE_MAX;
    for (const IteratorNode& node : graph_.nodes()) {
      const uint64_t said =
          node.facts.batch != 0 ? node.facts.batch : LeadingSize(node.facts.shapes);
      // What the trainer gets: the outermost one that says anything.
      if (said == 0 || Depth(node.path) >= depth) continue;
      samples = said;
      depth = Depth(node.path);
    }
    return samples <= UINT32_MAX ? static_cast<uint32_t>(samples) : 0;
  }

  HostEvents& host_;
  const size_t trainer_;
  RunBuilder& builder_;
  const IteratorGraph graph_;
  std::vector<StageId> stages_;  // by node
  StageId trainer_stage_;
  uint64_t run_ = 0;
  StageId run_stage_;
  int64_t run_start_ns_ = 0;
  int64_t run_end_ns_ = 0;
};

}  // namespace

PipelineSeen AddPipeline(HostEvents& host, size_t trainer, RunBuilder& builder) {
  return Pipeline(host, trainer, builder).Run();
}

}  // namespace stallscope::importers
