#include "analyzer/timeline/run_index.h"

#include <algorithm>
#include <utility>

#include "analyzer/base/thread.h"
#include "analyzer/timeline/counter_kind.h"

namespace stallscope::timeline {
namespace {

// Kernels and copies by track.
using DeviceWork = std::vector<std::vector<Segment>>;

template <class Row>
void Gather(const std::vector<Row>& rows, Origin origin, DeviceWork& work, auto&& kind_of) {
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (!row.track.known()) continue;
    work[row.track.value].push_back(
        {row.start_ns, row.end_ns, kind_of(row), origin, static_cast<uint32_t>(i)});
  }
}

DeviceWork GatherDeviceWork(const model::Run& run, IsCommunication is_communication) {
  // Few names, many kernels.
  std::vector<bool> communication(run.strings.size());
  for (size_t i = 0; i < run.strings.size(); ++i)
    communication[i] = is_communication(run.strings[i]);
  DeviceWork work(run.tracks.size());
  Gather(run.rows.kernels, Origin::kKernel, work, [&](const trace::Kernel& kernel) {
    const bool reduces = kernel.name.known() && communication[kernel.name.value];
    return reduces ? kCommunicationKind : kComputeKind;
  });
  Gather(run.rows.copies, Origin::kCopy, work, [](const trace::Copy& copy) {
    return static_cast<uint16_t>(kCopyKind + static_cast<uint16_t>(copy.direction));
  });
  return work;
}

// Of what overlaps, the earlier one has the time.
std::vector<Segment> Disjoint(std::vector<Segment> segments) {
  std::stable_sort(segments.begin(), segments.end(),
                   [](const Segment& a, const Segment& b) { return a.start_ns < b.start_ns; });
  std::vector<Segment> apart;
  for (Segment segment : segments) {
    if (!apart.empty()) segment.start_ns = std::max(segment.start_ns, apart.back().end_ns);
    if (segment.start_ns < segment.end_ns) apart.push_back(segment);
  }
  return apart;
}

// `first`, and of `then` what lies beside it. Both are disjoint and ascending, and so is the
// result.
std::vector<Segment> FillUp(const std::vector<Segment>& first, const LaneIndex& then) {
  std::vector<Segment> all;
  size_t next = 0;
  for (size_t i = 0; i < then.size(); ++i) {
    Segment rest = then.At(i);
    while (next < first.size() && first[next].start_ns < rest.end_ns) {
      if (rest.start_ns < first[next].start_ns) {
        Segment part = rest;
        part.end_ns = first[next].start_ns;
        all.push_back(part);
      }
      rest.start_ns = std::max(rest.start_ns, first[next].end_ns);
      if (first[next].end_ns > rest.end_ns) break;
      all.push_back(first[next++]);
    }
    if (rest.start_ns < rest.end_ns) all.push_back(rest);
  }
  all.insert(all.end(), first.begin() + static_cast<std::ptrdiff_t>(next), first.end());
  return all;
}

LaneIndex LaneOfTrack(const model::Track& track, std::vector<Segment> device_work) {
  LaneIndex spans = LaneIndex::FromSpans(track);
  if (device_work.empty()) return spans;
  std::vector<Segment> work = Disjoint(std::move(device_work));
  return LaneIndex::FromSegments(spans.empty() ? work : FillUp(work, spans));
}

std::vector<SeriesIndex> DepthsOf(const model::Run& run) {
  std::vector<std::vector<SeriesPoint>> points(run.queues.size());
  for (const trace::QueueEvent& event : run.rows.queue_events) {
    if (!event.queue.known()) continue;
    points[event.queue.value].push_back({event.time_ns, static_cast<float>(event.depth)});
  }
  std::vector<SeriesIndex> series;
  for (auto& one : points) series.emplace_back(std::move(one));
  return series;
}

// Per second, from each sample to the next; the last rate holds on. Times in ns become a fraction.
std::vector<SeriesPoint> RatesOf(std::vector<trace::Sample> samples, bool of_time) {
  std::stable_sort(samples.begin(), samples.end(),
                   [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; });
  std::vector<SeriesPoint> rates;
  const double scale = of_time ? 1 : 1e9;
  for (size_t i = 0; i + 1 < samples.size(); ++i) {
    const auto ns = static_cast<double>(samples[i + 1].time_ns - samples[i].time_ns);
    if (!(ns > 0)) continue;
    // Some of the kernel's counters go back a little at times.
    const double grown = std::max(samples[i + 1].value - samples[i].value, 0.0);
    rates.push_back({samples[i].time_ns, static_cast<float>(grown / ns * scale)});
  }
  return rates;
}

std::vector<SeriesIndex> CountersOf(const model::Run& run) {
  std::vector<std::vector<trace::Sample>> samples(run.counters.size());
  for (const trace::Sample& sample : run.rows.samples) {
    if (sample.counter.known()) samples[sample.counter.value].push_back(sample);
  }
  std::vector<SeriesIndex> series;
  for (size_t i = 0; i < samples.size(); ++i) {
    const trace::CounterInfo& counter = run.counters[i];
    if (IsCumulative(counter)) {
      series.emplace_back(RatesOf(std::move(samples[i]), counter.unit == "ns"));
      continue;
    }
    std::vector<SeriesPoint> points;
    for (const trace::Sample& sample : samples[i]) {
      points.push_back({sample.time_ns, static_cast<float>(sample.value)});
    }
    series.emplace_back(std::move(points));
  }
  return series;
}

LaneIndex LaneOfSteps(const model::Run& run, const std::vector<model::StepInterval>& times) {
  std::vector<Segment> segments;
  const uint32_t rank = times.empty() ? 0 : run.RankOfStep(0);
  for (size_t row = 0; row < times.size(); ++row) {
    if (run.RankOfStep(row) != rank) continue;
    segments.push_back({times[row].start_ns, times[row].end_ns,
                        static_cast<uint16_t>(times[row].index % 2), Origin::kSpan,
                        static_cast<uint32_t>(row)});
  }
  return LaneIndex::FromSegments(Disjoint(std::move(segments)));
}

}  // namespace

size_t RunIndex::Bytes() const {
  size_t bytes = steps.Bytes() + step_times.capacity() * sizeof(model::StepInterval);
  for (const LaneIndex& lane : tracks) bytes += lane.Bytes();
  for (const Nesting& nesting : nested) {
    bytes += nesting.span_rows.capacity();
    for (const LaneIndex& lane : nesting.rows) bytes += lane.Bytes();
  }
  for (const SeriesIndex& series : queues) bytes += series.Bytes();
  for (const SeriesIndex& series : counters) bytes += series.Bytes();
  return bytes;
}

RunIndex MakeRunIndex(std::shared_ptr<const model::Run> run, IsCommunication is_communication,
                      unsigned threads) {
  RunIndex index;
  index.window = model::WindowOf(*run);
  index.tracks.resize(run->tracks.size());
  index.nested.resize(run->tracks.size());
  DeviceWork work = GatherDeviceWork(*run, is_communication);
  // Tracks on one side, queues on the other: both walk what the other does not touch.
  const auto take_queues = [&] {
    index.queues = DepthsOf(*run);
    index.counters = CountersOf(*run);
    index.step_times = model::StepIntervals(*run);
    index.steps = LaneOfSteps(*run, index.step_times);
  };
  const auto take_track = [&](size_t i) {
    const bool spans_alone = work[i].empty();
    index.tracks[i] = LaneOfTrack(run->tracks[i], std::move(work[i]));
    // Where nothing overlaps nothing is nested, either.
    if (spans_alone && !index.tracks[i].in_place()) {
      index.nested[i] = NestingOf(*run, run->tracks[i]);
    }
  };
  ForEachParallel(index.tracks.size() + 1, threads, [&](size_t piece) {
    if (piece == 0) return take_queues();
    take_track(piece - 1);
  });
  index.run = std::move(run);
  return index;
}

}  // namespace stallscope::timeline
