// From a trace file to the answer: how long, how much memory.
//
//   attribution_rate write SPANS FILE [spans]  a trace as our own pipeline records it; with `spans`
//                                              without queues and elements
//   attribution_rate read FILE [THREADS]       load it, attribute it, print what that took
//
// Two programs in one, because the writer's memory would count as the reader's peak.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/model/loader.h"
#include "analyzer/trace/chunk.h"
#include "analyzer/trace/writer.h"
#include "tests/bench/usage.h"

namespace {

using namespace stallscope;         // NOLINT(google-build-using-namespace)
using namespace stallscope::trace;  // NOLINT(google-build-using-namespace)

constexpr uint32_t kRead = 0;
constexpr uint32_t kShuffle = 1;
constexpr uint32_t kDecode = 2;
constexpr uint32_t kAugment = 3;
constexpr uint32_t kBatch = 4;
constexpr uint32_t kTrainer = 5;
constexpr uint32_t kStages = 6;
constexpr uint32_t kReaders = 2;
constexpr uint32_t kWorkers = 4;
constexpr uint64_t kBatchSize = 32;
constexpr uint64_t kKernels = 8;
// What a batch of elements records, in intervals: see Maker::Batch.
constexpr uint64_t kSpansOfBatch = kBatchSize * 29 / 4 + 4 + kKernels + 1;

constexpr const char* kStageNames[kStages] = {"read",    "shuffle", "decode",
                                              "augment", "batch",   "trainer"};

class Names : public NameSource {
 public:
  std::string StageName(StageId id) const override { return kStageNames[id.value]; }
  std::string QueueName(QueueId id) const override { return "queue" + std::to_string(id.value); }
  std::string TrackName(TrackId id) const override { return "track" + std::to_string(id.value); }
  std::string CounterName(CounterId id) const override {
    return "thread" + std::to_string(1000 + id.value / 2) +
           (id.value % 2 == 0 ? ".on_cpu" : ".run_wait");
  }
  std::string String(StringId id) const override { return "string" + std::to_string(id.value); }
};

// Each element is read, shuffled, decoded and augmented by the worker whose turn it is; decoding is
// the bottleneck. Every thread is a list of spans that is flushed like the recorder's: a few
// thousand at a time, one thread after the other.
class Maker {
 public:
  explicit Maker(const std::string& path) : writer_(Open(path)), builder_(names_) {
    tracks_.resize(kReaders + 2 * kWorkers + 4);
    for (uint32_t t = 0; t < tracks_.size(); ++t) tracks_[t].id = TrackId{t};
  }

  void Write(uint64_t spans, bool spans_only) {
    spans_only_ = spans_only;
    Define();
    for (uint64_t batch = 0; batch * kSpansOfBatch < spans; ++batch) {
      Batch(batch);
      if (batch % 64 == 63) Flush();
    }
    Flush();
    builder_.SetSeal({now_, {}, ""});
    Append(FrameType::kSeal);
  }

 private:
  struct Span {
    SpanClass what;
    int64_t start;
    int64_t end;
    ItemId item;
    uint64_t bytes;
    uint64_t cpu;
    TrackId waker;
  };
  struct Thread {
    TrackId id;
    int64_t free_at = 1'000'000;
    std::vector<Span> spans;
    std::vector<QueueEvent> queue_events;
    std::vector<Element> elements;
    std::vector<Lineage> lineage;
    std::vector<Release> releases;
  };

  static TraceWriter Open(const std::string& path) {
    auto writer = TraceWriter::Create(path);
    if (!writer.ok()) std::abort();
    return std::move(writer).value();
  }
  void Append(FrameType type) {
    if (!writer_.Append(type, builder_.Finish({})).ok()) std::abort();
  }
  int64_t Around(int64_t ns) {
    return ns / 2 + static_cast<int64_t>(random_() % static_cast<uint64_t>(ns));
  }

  void Define() {
    RunInfo run;
    run.name = "made";
    run.start_ns = 1'000'000;
    run.host.cores_online = 8;
    builder_.Define(run);
    for (uint32_t s = 0; s < kStages; ++s) {
      StageInfo stage{StageId{s}, kStageNames[s], kStageNames[s], {}, QueueId{s}, 1, true};
      if (s == kRead) {
        stage.kind = "source";
        stage.workers = kReaders;
      }
      if (s == kDecode || s == kAugment) {
        stage.kind = "map";
        stage.workers = kWorkers;
      }
      if (s > 0) stage.inputs = {StageId{s - 1}};
      if (s == kTrainer) stage.queue = QueueId::None();
      builder_.Define(stage);
      if (s != kTrainer) builder_.Define(QueueInfo{QueueId{s}, "queue", 16, false});
    }
    builder_.Define(QueueInfo{QueueId{kTrainer}, "decode.input", 0, true});
    const auto track = [&](uint32_t id, uint32_t stage, trace::TrackKind kind) {
      builder_.Define(TrackInfo{TrackId{id}, "track" + std::to_string(id), kind,
                                stage < kStages ? StageId{stage} : StageId::None(), 1000 + id, 0});
    };
    for (uint32_t r = 0; r < kReaders; ++r) track(Reader(r), kRead, trace::TrackKind::kThread);
    for (uint32_t w = 0; w < kWorkers; ++w) track(Decoder(w), kDecode, trace::TrackKind::kThread);
    for (uint32_t w = 0; w < kWorkers; ++w)
      track(Augmenter(w), kAugment, trace::TrackKind::kThread);
    track(Batcher(), kBatch, trace::TrackKind::kThread);
    track(Trainer(), kTrainer, trace::TrackKind::kThread);
    track(Stream(), kStages, trace::TrackKind::kStream);
    track(Stream() + 1, kStages, trace::TrackKind::kCopyEngine);
    Append(FrameType::kChunk);
  }

  static uint32_t Reader(uint64_t i) { return static_cast<uint32_t>(i % kReaders); }
  static uint32_t Decoder(uint64_t i) { return kReaders + static_cast<uint32_t>(i % kWorkers); }
  static uint32_t Augmenter(uint64_t i) { return kWorkers + Decoder(i); }
  static uint32_t Batcher() { return kReaders + 2 * kWorkers; }
  static uint32_t Trainer() { return Batcher() + 1; }
  static uint32_t Stream() { return Batcher() + 2; }

  // The thread waits until `ready` and works after that; returns when it is done.
  int64_t Work(uint32_t thread, uint32_t stage, int64_t ready, int64_t ns, ItemId item,
               WaitCause cause, uint32_t queue, uint32_t waker) {
    Thread& t = tracks_[thread];
    int64_t now = t.free_at;
    const int64_t from = std::max(now + 200, ready);
    t.spans.push_back({{SpanKind::kWait, {}, cause, QueueId{queue}},
                       now + 100,
                       from,
                       {},
                       0,
                       0,
                       ready > now + 200 ? TrackId{waker} : TrackId::None()});
    const int64_t end = from + ns;
    if (stage == kRead && item.value % 4 == 0) {
      t.spans.push_back({{SpanKind::kWait, {}, WaitCause::kIo, {}},
                         from + 100,
                         end - 100,
                         {},
                         0,
                         0,
                         TrackId::None()});
    }
    const uint64_t cpu = item.value % 16 == 0 ? static_cast<uint64_t>(ns) * 98 / 100 : 0;
    t.spans.push_back({{SpanKind::kWork, StageId{stage}, {}, {}},
                       from,
                       end,
                       item,
                       uint64_t{stage == kRead ? 110'000u : 0u},
                       cpu,
                       TrackId::None()});
    t.free_at = end;
    return end;
  }
  void Queue(uint32_t queue, uint64_t item, uint32_t from, uint32_t to, int64_t pushed,
             int64_t popped) {
    const auto depth = static_cast<uint32_t>(random_() % 16);
    tracks_[from].queue_events.push_back(
        {pushed, ItemId{item}, QueueId{queue}, TrackId{from}, depth + 1, QueueOp::kPush});
    tracks_[to].queue_events.push_back(
        {popped, ItemId{item}, QueueId{queue}, TrackId{to}, depth, QueueOp::kPop});
  }

  void Batch(uint64_t batch) {
    const ItemId batch_id{(uint64_t{1} << 40) + batch};
    int64_t last = 0;
    ItemId last_item;
    for (uint64_t i = 0; i < kBatchSize; ++i) {
      const uint64_t e = batch * kBatchSize + i;
      const ItemId item{e};
      const uint32_t reader = Reader(e);
      const uint32_t decoder = Decoder(e);
      const uint32_t augmenter = Augmenter(e);
      int64_t at = Work(reader, kRead, 0, Around(20'000), item, WaitCause::kFull, kRead, decoder);
      // The decoder's thread pulls through the shuffle.
      Thread& d = tracks_[decoder];
      const int64_t pulled = std::max(at, d.free_at) + Around(500);
      d.spans.push_back({{SpanKind::kWork, StageId{kShuffle}, {}, {}},
                         d.free_at,
                         pulled,
                         item,
                         0,
                         0,
                         TrackId::None()});
      d.free_at = pulled;
      const int64_t decoded = Work(decoder, kDecode, pulled, Around(400'000), item,
                                   WaitCause::kLock, kTrainer, decoder);
      const int64_t done = Work(augmenter, kAugment, decoded, Around(150'000), item,
                                WaitCause::kEmpty, kDecode, decoder);
      Queue(kRead, e, reader, decoder, at, pulled);
      Queue(kShuffle, e, reader, decoder, at, pulled);
      Queue(kDecode, e, decoder, augmenter, decoded, done);
      Queue(kAugment, e, augmenter, Batcher(), done, done + 500);
      tracks_[reader].elements.push_back({item, e, e * 110'000, 110'000, StringId{0}, 0});
      tracks_[Batcher()].lineage.push_back({item, batch_id, StageId{kBatch}});
      if (e % 2 == 0) {
        tracks_[augmenter].releases.push_back({decoded - 50, decoded, item, StageId{kDecode}});
      }
      if (done > last) {
        last = done;
        last_item = item;
      }
    }
    const int64_t made = Work(Batcher(), kBatch, last, Around(60'000), batch_id, WaitCause::kEmpty,
                              kAugment, Augmenter(last_item.value));
    builder_.Add(trace::Batch{made, batch_id, last_item, StageId{kBatch}, kBatchSize, StringId{1}});
    Queue(kBatch, batch_id.value, Batcher(), Trainer(), made, made + 1000);
    Step(batch, batch_id, made);
  }

  void Step(uint64_t batch, ItemId id, int64_t made) {
    const int64_t requested = tracks_[Trainer()].free_at + 100;
    const int64_t issued = Work(Trainer(), kTrainer, made + 1000, Around(100'000), id,
                                WaitCause::kEmpty, kBatch, Batcher());
    int64_t device = std::max(issued - 50'000, device_free_);
    builder_.Add(Copy{device - 10'000,
                      device,
                      device + 100'000,
                      id,
                      4'800'000,
                      batch * 16,
                      TrackId{Stream() + 1},
                      {},
                      CopyMemory::kPinned});
    device += 100'000;
    for (uint64_t k = 0; k < kKernels; ++k) {
      const int64_t end = device + Around(200'000);
      builder_.Add(Kernel{issued - 10'000, device, end, id, batch * 16 + k, 0, TrackId{Stream()},
                          StringId{static_cast<uint32_t>(2 + k)}});
      device = end + 500;
    }
    device_free_ = device;
    builder_.Add(trace::Step{batch, requested, std::max(requested, made + 1000), issued, device, id,
                             TrackId{Trainer()}, kBatchSize, 0});
    now_ = device;
  }

  template <class Row>
  void FlushRows(std::vector<Row>& rows) {
    for (const Row& row : rows) {
      if (spans_only_) break;
      if (builder_.Full()) Append(FrameType::kChunk);
      builder_.Add(row);
    }
    rows.clear();
  }

  void Flush() {
    for (Thread& thread : tracks_) {
      for (const Span& s : thread.spans) {
        if (builder_.Full()) Append(FrameType::kChunk);
        builder_.AddSpan(thread.id, s.what, s.start, s.end, s.item);
        builder_.AddCost(s.bytes, s.cpu);
        builder_.AddWaker(s.waker);
      }
      thread.spans.clear();
      FlushRows(thread.queue_events);
      FlushRows(thread.elements);
      FlushRows(thread.lineage);
      FlushRows(thread.releases);
    }
    for (uint32_t c = 0; c < 2 * kWorkers; ++c) {
      const double part = c % 2 == 0 ? 0.7 : 0.05;
      builder_.Add(Sample{now_, part * static_cast<double>(now_), CounterId{c}});
    }
    Append(FrameType::kChunk);
  }

  Names names_;
  TraceWriter writer_;
  ChunkBuilder builder_;
  std::mt19937_64 random_{7};
  std::vector<Thread> tracks_;
  int64_t device_free_ = 0;
  int64_t now_ = 0;
  bool spans_only_ = false;
};

int Read(const std::string& path, unsigned threads) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  const auto start = Clock::now();
  auto run = model::LoadTrace(path);
  if (!run.ok()) {
    std::fprintf(stderr, "%s\n", run.error().Line().c_str());
    return 1;
  }
  const double load = since(start);
  const double load_cpu = CpuSeconds();
  const double load_mib = PeakMib();
  const attribution::Attribution result = attribution::Attribute(run.value(), threads);
  std::printf(
      "%.2f M intervals  load %.3f s (%.3f CPU, %.0f MiB)  attribute %.3f s (%.3f CPU)  together "
      "%.3f s, %.0f MiB  blame %zu rows, %zu steps\n",
      1e-6 * static_cast<double>(model::CountSpans(run.value())), load, load_cpu, load_mib,
      since(start) - load, CpuSeconds() - load_cpu, since(start), PeakMib(), result.blame.size(),
      result.window.steps);
  for (const attribution::Blame& blame : result.blame) {
    std::printf("  %s (%s) %.1f %%\n", std::string(run.value().NameOf(blame.stage)).c_str(),
                std::string(attribution::WordFor(blame.cause)).c_str(), 100 * blame.fraction);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "write" && argc >= 4) {
    Maker(argv[3]).Write(std::strtoull(argv[2], nullptr, 10), argc > 4);
    return 0;
  }
  if (command == "read" && argc >= 3) {
    return Read(argv[2], argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 2);
  }
  std::fprintf(stderr, "usage: attribution_rate write SPANS FILE [spans] | read FILE [THREADS]\n");
  return 2;
}
