#include "replay/workload/unseen_cpu.h"

#include <algorithm>

namespace stallscope::replay {
namespace {

using attribution::Interval;
using attribution::Intervals;

// Fewer batches do not show what is burned besides them.
constexpr double kFewestBatches = 8;

// The first that does not end before `time_ns`.
Intervals::const_iterator From(const Intervals& set, int64_t time_ns) {
  return std::partition_point(set.begin(), set.end(),
                              [&](const Interval& at) { return at.end_ns <= time_ns; });
}

}  // namespace

void UnseenCpu::Add(const std::vector<RecordedWork>& work, const CpuSamples& samples,
                    Interval window, const Intervals& without) {
  Interval works = {INT64_MAX, INT64_MIN};
  for (const RecordedWork& each : work) {
    works.start_ns = std::min(works.start_ns, each.start_ns);
    works.end_ns = std::max(works.end_ns, each.end_ns);
  }
  const Interval within = {std::max(works.start_ns, window.start_ns),
                           std::min(works.end_ns, window.end_ns)};
  const Intervals left_out = attribution::UnionWithin(without, within);
  Intervals pieces;
  for (size_t i = 0; i + 1 < samples.size(); ++i) {
    const Interval piece = {samples[i].first, samples[i + 1].first};
    if (piece.start_ns < within.start_ns || piece.end_ns > within.end_ns) continue;
    const auto touched = From(left_out, piece.start_ns);
    if (touched != left_out.end() && touched->start_ns < piece.end_ns) continue;
    cpu_ns_ += samples[i + 1].second - samples[i].second;
    pieces.push_back(piece);
  }
  pieces = attribution::UnionWithin(std::move(pieces), within);
  for (const RecordedWork& each : work) {
    for (auto at = From(pieces, each.start_ns); at != pieces.end() && at->start_ns < each.end_ns;
         ++at) {
      const int64_t seen_ns =
          std::min(at->end_ns, each.end_ns) - std::max(at->start_ns, each.start_ns);
      const double part =
          static_cast<double>(seen_ns) / static_cast<double>(each.end_ns - each.start_ns);
      cpu_ns_ -= part * static_cast<double>(each.cpu_ns);
      if (each.counts) batches_ += part;
    }
  }
}

double UnseenCpu::PerBatch() const {
  return batches_ < kFewestBatches ? 0 : std::max(0.0, cpu_ns_ / batches_);
}

}  // namespace stallscope::replay
