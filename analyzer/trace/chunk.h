// One payload: what one flush of the recorder wrote, readable without any other.
//
// ChunkBuilder encodes events as they come; DecodeChunk returns them. One thread at a time.
// Protobuf stays inside.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/base/clock.h"
#include "analyzer/base/result.h"
#include "analyzer/trace/events.h"
#include "analyzer/trace/limits.h"
#include "analyzer/trace/span_codec.h"

namespace stallscope::trace {

struct Definitions {
  std::optional<RunInfo> run;
  std::vector<StageInfo> stages;
  std::vector<QueueInfo> queues;
  std::vector<TrackInfo> tracks;
  std::vector<CounterInfo> counters;
  std::vector<ProcessInfo> processes;
  std::vector<LoaderInfo> loaders;
  std::vector<OpInfo> ops;
  std::vector<CodeLines> code_lines;
};

// Adds another measurement of the same function, line by line. Lines past kMaxLinesOfFunction are
// left out.
void Merge(const CodeLines& from, CodeLines& to);

using Names = std::vector<std::pair<uint32_t, std::string>>;

struct Anchor {
  Ticks ticks = 0;
  int64_t monotonic_ns = 0;
  int64_t realtime_ns = 0;
};

struct Chunk {
  Anchor anchor;
  Names stage_names;
  Names queue_names;
  Names track_names;
  Names counter_names;
  Names strings;
  Definitions definitions;
  std::vector<SpanClass> span_classes;
  std::vector<EncodedSpans> spans;
  EventRows rows;
  std::optional<Seal> seal;
};

// Supplies the names of the things that a chunk mentions.
class NameSource {
 public:
  virtual ~NameSource() = default;
  virtual std::string StageName(StageId id) const = 0;
  virtual std::string QueueName(QueueId id) const = 0;
  virtual std::string TrackName(TrackId id) const = 0;
  virtual std::string CounterName(CounterId id) const = 0;
  virtual std::string String(StringId id) const = 0;
};

// Encodes events into a payload. Once Full(), it must be finished before more is added; check
// before adding a span, not between a span and its cost. Whatever is added, the payload stays
// within kMaxPayload and kMaxMessagesInPayload: texts past limits.h are cut, lists end.
class ChunkBuilder {
 public:
  // How many spans may be added between two measurements of the columns' length.
  static constexpr uint64_t kSpansBetweenMeasures = 1024;

  // `names` must outlive the builder; it is asked once per chunk for each thing mentioned.
  explicit ChunkBuilder(const NameSource& names);

  // The number of a class, valid until Finish(): callers that add many spans ask once.
  uint32_t ClassNumber(const SpanClass& span_class);
  // A track's spans must come in the order in which it emitted them.
  void AddSpan(TrackId track, uint32_t class_number, int64_t start_ns, int64_t end_ns,
               ItemId item) {
    if (last_spans_ == nullptr || track != last_track_) [[unlikely]] {
      TurnTo(track);
    }
    last_spans_->Add(class_number, start_ns, end_ns, item);
    if (++span_count_ % kSpansBetweenMeasures == 0) MeasureSpans();
  }
  void AddSpan(TrackId track, const SpanClass& span_class, int64_t start_ns, int64_t end_ns,
               ItemId item) {
    AddSpan(track, ClassNumber(span_class), start_ns, end_ns, item);
  }
  // About the span added last; ignored if there is none. A second cost or waker of the same span is
  // ignored.
  void AddCost(uint64_t bytes, uint64_t cpu_ns) {
    if (last_spans_ != nullptr) last_spans_->AddCost(bytes, cpu_ns);
  }
  void AddWaker(TrackId waker) {
    if (last_spans_ != nullptr) last_spans_->AddWaker(waker);
  }

  void Add(const QueueEvent& row);
  void Add(const Release& row);
  void Add(const Lineage& row);
  void Add(const Batch& row);
  void Add(const Element& row);
  void Add(const CacheEvent& row);
  void Add(const Copy& row);
  void Add(const Kernel& row);
  void Add(const Step& row);
  void Add(const Sample& row);
  void Add(const KnobChange& row);
  void Add(const Gap& row);
  void Add(const Probe& row);

  // A RunInfo may only be added to an empty builder.
  void Define(const RunInfo& run);
  void Define(const StageInfo& stage);
  void Define(const QueueInfo& queue);
  void Define(const TrackInfo& track);
  void Define(const CounterInfo& counter);
  void Define(const ProcessInfo& process);
  void Define(const LoaderInfo& loader);
  void Define(const OpInfo& op);
  void Define(const CodeLines& lines);
  // Tallies past kMaxTalliesInSeal are summed up in one without a track, so that the totals stay
  // right.
  void SetSeal(const Seal& seal);

  bool Empty() const { return size_ == 0 && span_count_ == 0; }
  bool Full() const { return size_ + span_bytes_ >= kFullPayload; }

  // The payload, at most kMaxPayload bytes; the builder is empty again.
  std::string Finish(const Anchor& anchor);

 private:
  // The things of one kind that the chunk mentions. An id past the limits of limits.h gets no name.
  struct UsedNames {
    std::vector<bool> seen;
    Names names;
    bool IsNew(uint32_t id);
    Names Take();
  };
  struct SpanClassHash {
    size_t operator()(const SpanClass& c) const;
  };

  void TurnTo(TrackId track);
  void MeasureSpans();
  void Use(StageId id);
  void Use(QueueId id);
  void Use(TrackId id);
  void Use(CounterId id);
  void Use(StringId id);
  void AddName(UsedNames& used, uint32_t id, std::string name);
  void Grow(size_t bytes) { size_ += bytes; }

  const NameSource& names_;
  EventRows rows_;
  Definitions definitions_;
  std::optional<Seal> seal_;
  std::vector<SpanClass> classes_;
  std::unordered_map<SpanClass, uint32_t, SpanClassHash> class_numbers_;
  std::array<uint32_t, 256> class_cache_{};  // number + 1 by hash; saves most lookups above
  std::unordered_map<uint32_t, SpanEncoder> encoders_;  // by track, in any number
  std::vector<SpanEncoder*> open_spans_;  // the same, in the order of their first span
  TrackId last_track_;
  SpanEncoder* last_spans_ = nullptr;
  UsedNames stages_;
  UsedNames queues_;
  UsedNames tracks_;
  UsedNames counters_;
  UsedNames strings_;
  uint64_t span_count_ = 0;
  size_t span_bytes_ = 0;  // a bound of the open spans, as last measured
  size_t size_ = 0;        // a bound of everything else, at least 16 bytes per message or string
};

// The contents of `payload`. The error says what is wrong with it; the caller adds where.
Result<Chunk> DecodeChunk(std::string_view payload);

// How many spans and rows a payload declares, without decoding it, so that a loader can reserve.
// Counts larger than the bytes permit are reduced.
struct ChunkCounts {
  std::vector<std::pair<TrackId, uint64_t>> spans;
  std::map<int, uint64_t> rows;  // by the table's number in ForEachTable
};
ChunkCounts CountChunk(std::string_view payload);

}  // namespace stallscope::trace
