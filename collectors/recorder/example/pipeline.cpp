#include "pipeline.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "analyzer/base/clock.h"
#include "bounded_queue.h"
#include "text.h"

namespace example {
namespace {

using stallscope::ItemId;
using stallscope::NowTicks;
using stallscope::QueueId;
using stallscope::StageId;
using stallscope::Ticks;
using stallscope::recorder::CurrentTrack;
using stallscope::recorder::Recorder;
using stallscope::recorder::SpanScope;
using stallscope::recorder::ThreadScope;
using stallscope::trace::StringId;

constexpr size_t kQueueCapacity = 64;

struct Block {
  ItemId id;
  std::string text;
};

// A tokenized block.
struct Sample {
  ItemId id;
  std::vector<float> features;
  float label = 0;
};

// Logistic regression by gradient descent: something that really computes on each batch.
class Trainer {
 public:
  // One step of gradient descent; returns the batch's mean loss.
  double Step(const std::vector<Sample>& batch) {
    gradient_.assign(kFeatures, 0);
    double loss = 0;
    for (const Sample& sample : batch) {
      float sum = 0;
      for (size_t i = 0; i < kFeatures; ++i) sum += weights_[i] * sample.features[i];
      const float probability = 1 / (1 + std::exp(-sum));
      const float truth = sample.label > 0 ? probability : 1 - probability;
      loss -= std::log(std::fmax(truth, 1e-7f));
      const float error = probability - sample.label;
      for (size_t i = 0; i < kFeatures; ++i) gradient_[i] += error * sample.features[i];
    }
    constexpr float kLearningRate = 0.5f;
    const float rate = kLearningRate / static_cast<float>(batch.size());
    for (size_t i = 0; i < kFeatures; ++i) weights_[i] -= rate * gradient_[i];
    return loss / static_cast<double>(batch.size());
  }

 private:
  std::vector<float> weights_ = std::vector<float>(kFeatures);
  std::vector<float> gradient_;
};

// What the trace calls the pipeline's parts. All unknown where nothing is recorded.
struct Names {
  QueueId texts, samples;
  StageId read, tokenize, batch, train;
  std::vector<StringId> files;
  StringId shape;
};

Names Define(Recorder* recorder, const Options& options) {
  Names names;
  names.files.resize(std::max<size_t>(options.files.size(), 1));
  if (recorder == nullptr) return names;
  names.texts = recorder->DefineQueue({.name = "texts", .capacity = kQueueCapacity});
  names.samples = recorder->DefineQueue({.name = "samples", .capacity = kQueueCapacity});
  names.read = recorder->DefineStage(
      {.name = "read", .kind = "source", .queue = names.texts, .workers = 1, .ordered = true});
  names.tokenize = recorder->DefineStage({.name = "tokenize",
                                          .kind = "map",
                                          .inputs = {names.read},
                                          .queue = names.samples,
                                          .workers = static_cast<uint32_t>(options.workers)});
  names.batch = recorder->DefineStage({.name = "batch",
                                       .kind = "batch",
                                       .inputs = {names.tokenize},
                                       .workers = 1,
                                       .ordered = true});
  names.train = recorder->DefineStage(
      {.name = "train", .kind = "trainer", .inputs = {names.batch}, .workers = 1, .ordered = true});
  names.files[0] = recorder->DefineString("made");
  for (size_t i = 0; i < options.files.size(); ++i) {
    names.files[i] = recorder->DefineString(options.files[i]);
  }
  names.shape = recorder->DefineString("[" + std::to_string(options.batch_size) + "," +
                                       std::to_string(kFeatures) + "]");
  return names;
}

class Pipeline {
 public:
  Pipeline(const Options& options, Recorder* recorder, const std::function<bool()>& stop)
      : options_(options),
        recorder_(recorder),
        stop_(stop),
        names_(Define(recorder, options)),
        texts_(kQueueCapacity, names_.texts),
        samples_(kQueueCapacity, names_.samples),
        tokenizing_(options.workers) {}

  Outcome Run() {
    std::vector<std::thread> threads;
    threads.emplace_back([this] { Read(); });
    for (size_t i = 0; i < options_.workers; ++i) {
      threads.emplace_back([this, i] { Tokenize(i); });
    }
    Train();
    for (std::thread& thread : threads) thread.join();
    return outcome_;
  }

 private:
  ItemId NextItem() { return ItemId{next_item_.fetch_add(1, std::memory_order_relaxed)}; }

  // With the thread's CPU time where the work is long enough to pay for asking: 600 ns each time.
  SpanScope Span(StageId stage, ItemId item) const {
    if (options_.block_bytes < size_t{32} << 10) return SpanScope(stage, item);
    return SpanScope(SpanScope::WithCpu{}, stage, item);
  }

  void Read() {
    const ThreadScope scope(recorder_, "read", names_.read);
    TextSource source(options_.files, options_.block_bytes);
    for (uint64_t record = 0; !stop_(); ++record) {
      Block block{NextItem(), {}};
      Origin origin;
      {
        SpanScope span = Span(names_.read, block.id);
        if (!source.Next(block.text, origin)) {
          outcome_.error = source.error();
          break;
        }
        span.AddBytes(block.text.size());
      }
      if (auto* track = CurrentTrack()) {
        track->Element({.item = block.id,
                        .record = record,
                        .offset = origin.offset,
                        .bytes = block.text.size(),
                        .file = names_.files[origin.file],
                        .epoch = origin.epoch});
      }
      outcome_.bytes += block.text.size();
      texts_.Push(std::move(block));
    }
    texts_.Close();
  }

  void Tokenize(size_t worker) {
    const ThreadScope scope(recorder_, "tokenize " + std::to_string(worker), names_.tokenize);
    while (std::optional<Block> block = texts_.Pop()) {
      Sample sample{block->id, {}, 0};
      {
        SpanScope span = Span(names_.tokenize, block->id);
        span.AddBytes(block->text.size());
        sample.features = CountWords(block->text);
        sample.label = block->text.front() < 'n' ? 1.0f : 0.0f;
      }
      samples_.Push(std::move(sample));
    }
    if (--tokenizing_ == 0) samples_.Close();  // the last one turns off the light
  }

  // The samples of one batch, and whether it is whole.
  bool Collect(ItemId batch_id, std::vector<Sample>& batch) {
    batch.clear();
    while (batch.size() < options_.batch_size) {
      std::optional<Sample> sample = samples_.Pop();
      if (!sample) return false;
      batch.push_back(std::move(*sample));
    }
    if (auto* track = CurrentTrack()) {
      for (const Sample& sample : batch) track->Lineage(names_.batch, sample.id, batch_id);
      track->Batch(names_.batch, batch_id, static_cast<uint32_t>(batch.size()), batch.back().id,
                   names_.shape, NowTicks());
    }
    return true;
  }

  void Train() {
    const ThreadScope scope(recorder_, "train", names_.train);
    Trainer trainer;
    std::vector<Sample> batch;
    const int64_t begin = stallscope::MonotonicNs();
    Ticks requested = NowTicks();
    ItemId id = NextItem();
    for (; Collect(id, batch); id = NextItem()) {
      const Ticks received = NowTicks();
      outcome_.loss = trainer.Step(batch);
      const Ticks done = NowTicks();
      if (auto* track = CurrentTrack()) {
        track->Work(names_.train, id, received, done);
        track->Step({.index = outcome_.steps,
                     .requested_ns = static_cast<int64_t>(requested),
                     .received_ns = static_cast<int64_t>(received),
                     .issued_ns = static_cast<int64_t>(done),
                     .device_done_ns = static_cast<int64_t>(done),
                     .batch = id,
                     .samples = static_cast<uint32_t>(batch.size())});
      }
      requested = done;
      outcome_.blocks += batch.size();
      ++outcome_.steps;
    }
    outcome_.seconds = static_cast<double>(stallscope::MonotonicNs() - begin) / 1e9;
  }

  const Options& options_;
  Recorder* const recorder_;
  const std::function<bool()>& stop_;
  const Names names_;
  BoundedQueue<Block> texts_;
  BoundedQueue<Sample> samples_;
  std::atomic<size_t> tokenizing_;
  std::atomic<uint64_t> next_item_{0};
  Outcome outcome_;  // the reader writes bytes and error, the trainer the rest
};

}  // namespace

Outcome RunPipeline(const Options& options, Recorder* recorder, const std::function<bool()>& stop) {
  return Pipeline(options, recorder, stop).Run();
}

}  // namespace example
