#include "analyzer/importers/foreign/steps.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

namespace stallscope::importers {
namespace {

constexpr size_t kLeastRounds = 3;
constexpr size_t kMostRounds = 100'000;

// The kernels of the device that has the most of them, by start.
std::vector<const trace::Kernel*> OfTheBusiestDevice(const model::Run& run) {
  std::map<uint32_t, std::vector<const trace::Kernel*>> devices;
  for (const trace::Kernel& kernel : run.rows.kernels) {
    if (!kernel.track.known() || !kernel.name.known()) continue;
    devices[run.tracks[kernel.track.value].info.device].push_back(&kernel);
  }
  std::vector<const trace::Kernel*> most;
  for (auto& [device, kernels] : devices) {
    if (kernels.size() > most.size()) most = std::move(kernels);
  }
  std::stable_sort(most.begin(), most.end(), [](const trace::Kernel* a, const trace::Kernel* b) {
    return a->start_ns < b->start_ns;
  });
  return most;
}

// How many names occur that often. n kernels have at most sqrt(2n) different counts, however many
// names there are: comparing each count with each other is linear.
using NamesByCount = std::map<size_t, size_t>;

// How many rounds there are: the count that most names have.
size_t CommonCount(const NamesByCount& names) {
  std::pair<size_t, size_t> best;  // how many names, which count
  for (const auto& [count, how_many] : names) {
    if (count < kLeastRounds || count > kMostRounds) continue;
    if (how_many > best.first) best = {how_many, count};
  }
  return best.second;
}

// As often as there are rounds or a multiple of it, for most names.
bool Even(const NamesByCount& names, size_t rounds) {
  if (rounds == 0) return false;
  size_t even = 0;
  size_t all = 0;
  for (const auto& [count, how_many] : names) {
    all += how_many;
    if (count % rounds == 0) even += how_many;
  }
  return even * 2 > all;
}

// A recording that was cut out of a run lacks part of its first and last round: a name that occurs
// m times per round may then occur up to m times too often or too rarely. That is only significant
// if m is small compared with the number of rounds, so only those names count, and only with enough
// rounds; nearly all of them must agree.
size_t CommonCountOfACutRun(const NamesByCount& names) {
  constexpr size_t kManyRounds = 8;
  constexpr size_t kLeastNames = 3;
  size_t best = 0;
  size_t most = kLeastNames - 1;
  for (const auto& [rounds, candidates] : names) {
    if (rounds < kManyRounds || rounds > kMostRounds) continue;
    size_t agree = 0;
    size_t asked = 0;
    for (const auto& [count, how_many] : names) {
      const size_t each = (count + rounds / 2) / rounds;
      if (2 * each >= rounds) continue;
      asked += how_many;
      const size_t off = count > each * rounds ? count - each * rounds : each * rounds - count;
      agree += each > 0 && off <= each ? how_many : 0;
    }
    if (agree * 10 < asked * 9 || agree < most || (agree == most && rounds <= best)) continue;
    most = agree;
    best = rounds;
  }
  return best;
}

// When the last device work ended, or the last thing at all.
int64_t EndOfWork(const model::Run& run) {
  int64_t end = std::numeric_limits<int64_t>::min();
  for (const trace::Kernel& kernel : run.rows.kernels) end = std::max(end, kernel.end_ns);
  for (const trace::Copy& copy : run.rows.copies) end = std::max(end, copy.end_ns);
  return end != std::numeric_limits<int64_t>::min() ? end : run.info.end_ns;
}

// Each wait on the track that waits most often begins a step, which lasts to the next one. A last
// wait that nothing follows found the end of the data.
std::vector<StepMark> MarksOfWaits(const model::Run& run) {
  std::map<TrackId, std::vector<StepMark>> by_track;
  for (const StepMark& wait : BatchWaits(run)) by_track[wait.track].push_back(wait);
  std::vector<StepMark> marks;
  for (auto& [track, waits] : by_track) {
    if (waits.size() > marks.size()) marks = std::move(waits);
  }
  if (marks.empty()) return marks;
  const int64_t last = EndOfWork(run);
  if (marks.size() > 1 && marks.back().end_ns >= last) marks.pop_back();
  for (size_t i = 0; i < marks.size(); ++i) {
    marks[i].index = i;
    marks[i].end_ns =
        i + 1 < marks.size() ? marks[i + 1].start_ns : std::max(marks[i].end_ns, last);
  }
  return marks;
}

std::vector<StepMark> MarksOfRhythm(const model::Run& run) {
  const std::optional<Rhythm> rhythm = FindRhythm(run);
  if (!rhythm) return {};
  std::vector<StepMark> marks;
  for (const int64_t start : rhythm->starts_ns) {
    if (!marks.empty()) marks.back().end_ns = start;
    StepMark& mark = marks.emplace_back();
    mark.index = marks.size() - 1;
    mark.start_ns = start;
  }
  marks.back().end_ns = std::max(marks.back().start_ns, EndOfWork(run));
  return marks;
}

// By time, without those that begin in the first half of the previous one: copies of the same mark,
// on another thread or nested.
std::vector<StepMark> Sorted(std::vector<StepMark> marks) {
  std::stable_sort(marks.begin(), marks.end(),
                   [](const StepMark& a, const StepMark& b) { return a.start_ns < b.start_ns; });
  std::vector<StepMark> kept;
  for (const StepMark& mark : marks) {
    if (!kept.empty()) {
      const StepMark& before = kept.back();
      if (mark.start_ns < before.start_ns + (before.end_ns - before.start_ns) / 2) continue;
      if (mark.start_ns == before.start_ns) continue;
      if (mark.index == before.index && mark.start_ns < before.end_ns) continue;
    }
    kept.push_back(mark);
  }
  const auto not_above = [](const StepMark& a, const StepMark& b) { return a.index >= b.index; };
  if (std::adjacent_find(kept.begin(), kept.end(), not_above) != kept.end()) {
    for (size_t i = 0; i < kept.size(); ++i) kept[i].index = i;
  }
  return kept;
}

// What the device did for each step: when the last of it was launched and done.
struct DeviceWork {
  int64_t launched_ns = 0;
  int64_t done_ns = 0;
  bool any = false;
};

class WorkOfSteps {
 public:
  explicit WorkOfSteps(const std::vector<StepMark>& marks) : marks_(marks), work_(marks.size()) {}

  template <class Row>
  void Add(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
      const int64_t launched = row.enqueued_ns != 0 ? row.enqueued_ns : row.start_ns;
      const auto next =
          std::upper_bound(marks_.begin(), marks_.end(), launched,
                           [](int64_t ns, const StepMark& mark) { return ns < mark.start_ns; });
      if (next == marks_.begin()) continue;
      const auto step = static_cast<size_t>(next - marks_.begin()) - 1;
      // Work after the last step belongs to none.
      if (step + 1 == marks_.size() && launched > marks_[step].end_ns) continue;
      DeviceWork& work = work_[step];
      work.launched_ns = work.any ? std::max(work.launched_ns, launched) : launched;
      work.done_ns = work.any ? std::max(work.done_ns, row.end_ns) : row.end_ns;
      work.any = true;
    }
  }
  const DeviceWork& Of(size_t step) const { return work_[step]; }

 private:
  const std::vector<StepMark>& marks_;
  std::vector<DeviceWork> work_;
};

void SayWhereStepsComeFrom(StepsFrom from, model::Run& run) {
  std::vector<std::string>& limits = run.info.limits;
  if (from == StepsFrom::kBatchWaits) {
    limits.push_back("steps: this file marks none; each fetch of a batch begins one");
  } else if (from == StepsFrom::kKernelRhythm) {
    limits.push_back(
        "steps: this file marks none; they were inferred from the rhythm of its kernels, and begin "
        "with the launch of each round's first kernel");
  }
}

}  // namespace

std::optional<Rhythm> FindRhythm(const model::Run& run) {
  const std::vector<const trace::Kernel*> kernels = OfTheBusiestDevice(run);
  std::map<trace::StringId, size_t> counts;
  for (const trace::Kernel* kernel : kernels) ++counts[kernel->name];
  NamesByCount names;
  for (const auto& [name, count] : counts) ++names[count];
  size_t rounds = CommonCount(names);
  if (!Even(names, rounds)) rounds = CommonCountOfACutRun(names);
  if (rounds == 0) return std::nullopt;

  Rhythm rhythm;
  std::vector<size_t> places;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const trace::Kernel& kernel = *kernels[i];
    if (!rhythm.kernel.known() && counts[kernel.name] == rounds) rhythm.kernel = kernel.name;
    if (kernel.name != rhythm.kernel) continue;
    places.push_back(i);
    rhythm.starts_ns.push_back(kernel.enqueued_ns != 0 ? kernel.enqueued_ns : kernel.start_ns);
  }
  std::vector<size_t> sizes;
  for (size_t i = 1; i < places.size(); ++i) sizes.push_back(places[i] - places[i - 1]);
  std::sort(sizes.begin(), sizes.end());
  if (sizes.back() * 2 > sizes[sizes.size() / 2] * 3) return std::nullopt;
  return rhythm;
}

std::vector<StepMark> BatchWaits(const model::Run& run) {
  std::vector<StepMark> waits;
  for (const model::Track& track : run.tracks) {
    if (track.info.kind != trace::TrackKind::kThread) continue;
    for (size_t i = 0; i < track.spans.size(); ++i) {
      if (!model::IsBatchWait(run.ClassOf(track, i))) continue;
      waits.push_back({waits.size(), track.spans.start_ns[i], track.spans.EndNs(i), track.info.id});
    }
  }
  std::stable_sort(waits.begin(), waits.end(),
                   [](const StepMark& a, const StepMark& b) { return a.start_ns < b.start_ns; });
  return waits;
}

StepsFrom AddSteps(std::vector<StepMark> marks, model::Run& run) {
  StepsFrom from = StepsFrom::kMarks;
  if (marks.empty()) {
    marks = MarksOfWaits(run);
    from = StepsFrom::kBatchWaits;
  }
  if (marks.empty()) {
    marks = MarksOfRhythm(run);
    from = StepsFrom::kKernelRhythm;
  }
  if (marks.empty()) return StepsFrom::kNowhere;
  marks = Sorted(std::move(marks));
  SayWhereStepsComeFrom(from, run);

  const std::vector<StepMark> waits = BatchWaits(run);
  WorkOfSteps device(marks);
  device.Add(run.rows.kernels);
  device.Add(run.rows.copies);
  auto wait = waits.begin();
  for (size_t i = 0; i < marks.size(); ++i) {
    const StepMark& mark = marks[i];
    const bool last = i + 1 == marks.size();
    const int64_t next = last ? std::numeric_limits<int64_t>::max() : marks[i + 1].start_ns;
    trace::Step step;
    step.index = mark.index;
    step.track = mark.track;
    step.samples = mark.samples;
    step.requested_ns = mark.start_ns;
    step.received_ns = mark.start_ns;
    while (wait != waits.end() && wait->start_ns < mark.start_ns) ++wait;
    if (wait != waits.end() && wait->start_ns < next) {
      step.received_ns = std::max(mark.start_ns, wait->end_ns);
      if (!step.track.known()) step.track = wait->track;
    }
    const DeviceWork& work = device.Of(i);
    step.issued_ns = std::max(step.received_ns, work.any ? work.launched_ns : mark.end_ns);
    step.device_done_ns = std::max(step.issued_ns, work.any ? work.done_ns : mark.end_ns);
    if (last) step.device_done_ns = std::max(step.device_done_ns, mark.end_ns);
    run.rows.steps.push_back(step);
  }
  return from;
}

}  // namespace stallscope::importers
