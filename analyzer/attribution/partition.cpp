#include "analyzer/attribution/partition.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "analyzer/attribution/beside.h"
#include "analyzer/attribution/unseen.h"
#include "analyzer/attribution/window.h"
#include "analyzer/model/job_spec.h"

namespace stallscope::attribution {
namespace {

using DeviceKey = std::pair<uint32_t, uint32_t>;  // rank, device

Interval Range(const Window& window) { return {window.start_ns, window.end_ns}; }

std::map<DeviceKey, Activity> DeviceActivities(const model::Run& run) {
  std::map<DeviceKey, Activity> devices;
  for (const model::Track& track : run.tracks) {
    if (track.info.on_device()) devices[{track.rank, track.info.device}];
  }
  return devices;
}

// Whether the host has issued this kernel or copy in that time.
template <class Row>
bool IsIssuedIn(Interval range, const Row& row) {
  const int64_t issued = row.enqueued_ns != 0 ? row.enqueued_ns : row.start_ns;
  return issued >= range.start_ns && issued < range.end_ns;
}

void AddKernels(const model::Run& run, Interval issued, std::map<DeviceKey, Activity>& devices) {
  std::vector<bool> communication(run.strings.size());
  for (size_t i = 0; i < run.strings.size(); ++i)
    communication[i] = IsCommunication(run.strings[i]);
  for (const trace::Kernel& kernel : run.rows.kernels) {
    if (!kernel.track.known() || !IsIssuedIn(issued, kernel)) continue;
    const model::Track& track = run.tracks[kernel.track.value];
    Activity& activity = devices[{track.rank, track.info.device}];
    const bool moves = kernel.name.known() && communication[kernel.name.value];
    activity[At(moves ? Category::kCommunication : Category::kCompute)].push_back(
        {kernel.start_ns, kernel.end_ns});
    // Enqueued, and nothing runs: the launch is on its way, or a reduction waits for its peers. A
    // profiler's collective waits for them while it runs; before, it waits for its turn in a queue.
    if (kernel.enqueued_ns != 0) {
      const bool for_peers = moves && !run.imported();
      activity[At(for_peers ? Category::kCommunication : Category::kLaunch)].push_back(
          {kernel.enqueued_ns, kernel.start_ns});
    }
  }
}

void AddCopies(const model::Run& run, Interval issued, std::map<DeviceKey, Activity>& devices) {
  for (const trace::Copy& copy : run.rows.copies) {
    if (!copy.track.known() || !IsIssuedIn(issued, copy)) continue;
    const model::Track& track = run.tracks[copy.track.value];
    devices[{track.rank, track.info.device}][At(Category::kTransfer)].push_back(
        {copy.start_ns, copy.end_ns});
  }
}

// Other work of a device: an imported run's memsets.
void AddDeviceSpans(const model::Run& run, std::map<DeviceKey, Activity>& devices) {
  for (const model::Track& track : run.tracks) {
    if (!track.info.on_device()) continue;
    Intervals& compute = devices[{track.rank, track.info.device}][At(Category::kCompute)];
    for (size_t i = 0; i < track.spans.size(); ++i) {
      compute.push_back({track.spans.start_ns[i], track.spans.EndNs(i)});
    }
  }
}

std::map<uint32_t, Intervals> AllInOrder(std::map<uint32_t, Intervals> waits) {
  for (auto& [rank, intervals] : waits) intervals = UnionWithin(std::move(intervals), kEver);
  return waits;
}

// When each rank's trainer waited for a batch, by its track: of an imported run, whose steps do not
// begin with the request. Sorted, without overlaps.
std::map<uint32_t, Intervals> BatchWaits(const model::Run& run) {
  std::map<uint32_t, Intervals> waits;
  for (const model::Track& track : run.tracks) {
    if (track.info.kind != trace::TrackKind::kThread) continue;
    for (size_t i = 0; i < track.spans.size(); ++i) {
      if (!model::IsBatchWait(run.ClassOf(track, i))) continue;
      waits[track.rank].push_back({track.spans.start_ns[i], track.spans.EndNs(i)});
    }
  }
  return AllInOrder(std::move(waits));
}

// A sampler may draw a whole pass before the first batch is asked for. That of a loader that a job
// only evaluates with is no step's.
bool DrawsForSteps(const model::Run& run, const trace::SpanClass& what) {
  if (what.kind != trace::SpanKind::kWork || !what.stage.known()) return false;
  if (what.activity == trace::SpanActivity::kOp) return false;
  return run.stages[what.stage.value].kind == "source" && FeedsSteps(run, what.stage);
}

// When each rank's trainer waited for workers to start or to end, or began to draw: also between
// two steps, or in a step whose loop was left before its data ended.
std::map<uint32_t, Intervals> Startups(const model::Run& run) {
  std::set<TrackId> trainers;
  for (const trace::Step& step : run.rows.steps) {
    if (step.track.known()) trainers.insert(step.track);
  }
  std::vector<bool> counts;  // by span class
  for (const trace::SpanClass& what : run.span_classes) {
    const bool starts =
        what.kind == trace::SpanKind::kWait && what.cause == trace::WaitCause::kStartup;
    counts.push_back(starts || DrawsForSteps(run, what));
  }
  std::map<uint32_t, Intervals> waits;
  for (const TrackId id : trainers) {
    const model::Track& track = run.tracks[id.value];
    for (size_t i = 0; i < track.spans.size(); ++i) {
      if (!counts[track.spans.span_class[i]]) continue;
      waits[track.rank].push_back({track.spans.start_ns[i], track.spans.EndNs(i)});
    }
  }
  return AllInOrder(std::move(waits));
}

// The trainer's work between two batches of one step, as zip(a, b) hands them out, by rank. Sorted,
// without overlaps.
std::map<uint32_t, Intervals> WorksBetweenBatches(const model::Run& run) {
  std::map<uint32_t, Intervals> works;
  const auto others = model::OtherBatches(run);
  if (others.empty()) return works;
  std::unordered_map<uint64_t, const trace::Step*> steps;
  for (const trace::Step& step : run.rows.steps) {
    if (others.count(step.batch.value) != 0) steps[step.batch.value] = &step;
  }
  for (const model::Track& track : run.tracks) {
    for (size_t i = 0; i < track.spans.size(); ++i) {
      const trace::SpanClass& what = run.ClassOf(track, i);
      if (what.kind != trace::SpanKind::kWork || !model::IsTrainer(run, what.stage)) continue;
      const auto step = steps.find(track.spans.item[i]);
      if (step == steps.end() || track.spans.EndNs(i) > step->second->received_ns) continue;
      works[track.rank].push_back({track.spans.start_ns[i], track.spans.EndNs(i)});
    }
  }
  return AllInOrder(std::move(works));
}

void Take(const Intervals& what, Intervals& from) {
  from = SubtractAll(UnionWithin(std::move(from), kEver), what);
}

// What a rank's host did, which is the same for all of its devices.
void AddHost(const model::Run& run, const std::set<uint32_t>& with_devices,
             std::map<DeviceKey, Activity>& devices) {
  std::map<uint32_t, Activity> hosts;
  const auto waits = run.imported()      ? BatchWaits(run)
                     : model::IsJob(run) ? Startups(run)
                                         : std::map<uint32_t, Intervals>();
  for (size_t i = 0; i < run.rows.steps.size(); ++i) {
    const trace::Step& step = run.rows.steps[i];
    Activity& host = hosts[run.RankOfStep(i)];
    if (!run.imported()) {
      host[At(Category::kInputStall)].push_back({step.requested_ns, step.received_ns});
    }
    const int64_t begins = run.imported() ? step.requested_ns : step.received_ns;
    if (with_devices.count(run.RankOfStep(i)) == 0) {
      // The trainer computes itself.
      host[At(Category::kCompute)].push_back({begins, step.device_done_ns});
      continue;
    }
    host[At(Category::kLaunch)].push_back({begins, step.issued_ns});
    host[At(Category::kSync)].push_back({step.issued_ns, step.device_done_ns});
  }
  for (const auto& [rank, works] : WorksBetweenBatches(run)) {
    Activity& host = hosts[rank];
    Take(works, host[At(Category::kInputStall)]);
    // A host with a device launches what that computes.
    const Category what = with_devices.count(rank) != 0 ? Category::kLaunch : Category::kCompute;
    Intervals& worked = host[At(what)];
    worked.insert(worked.end(), works.begin(), works.end());
  }
  for (const auto& [rank, intervals] : waits) {
    Activity& host = hosts[rank];
    Intervals& stall = host[At(Category::kInputStall)];
    stall.insert(stall.end(), intervals.begin(), intervals.end());
    // Host work inside a fetch is input_stall, never launch: what a batch's own copy waits for,
    // too.
    Take(intervals, host[At(Category::kCompute)]);
  }
  for (auto& [key, activity] : devices) {
    const auto host = hosts.find(key.first);
    if (host == hosts.end()) continue;
    for (size_t c = 0; c < kCategories; ++c) {
      activity[c].insert(activity[c].end(), host->second[c].begin(), host->second[c].end());
    }
    const auto wait = waits.find(key.first);
    if (wait != waits.end()) {
      Take(wait->second, activity[At(Category::kLaunch)]);
    }
  }
}

void Add(const Slice& slice, Interval range, PerCategory<int64_t>& ns) {
  const int64_t start = std::max(slice.start_ns, range.start_ns);
  const int64_t end = std::min(slice.end_ns, range.end_ns);
  if (start < end) ns[At(slice.category)] += end - start;
}

std::vector<StepShare> ShareSteps(const model::Run& run, const Window& window,
                                  const std::vector<model::StepInterval>& intervals,
                                  const std::vector<DeviceTimeline>& timelines) {
  if (window.rows == 0) {
    StepShare all;
    all.start_ns = window.start_ns;
    all.end_ns = window.end_ns;
    PerCategory<int64_t> sum{};
    for (const DeviceTimeline& timeline : timelines) {
      for (const Slice& slice : timeline.slices) Add(slice, Range(window), sum);
    }
    all.ns = MeanOf(sum, static_cast<int64_t>(timelines.size()));
    return {all};
  }
  std::vector<StepShare> steps;
  steps.reserve(window.rows);
  std::vector<size_t> next(timelines.size());  // the slice where each timeline's next step begins
  for (size_t row = window.first_row; row < window.first_row + window.rows; ++row) {
    StepShare step;
    step.index = intervals[row].index;
    step.rank = run.RankOfStep(row);
    step.start_ns = intervals[row].start_ns;
    step.end_ns = intervals[row].end_ns;
    step.samples = run.rows.steps[row].samples;
    PerCategory<int64_t> sum{};
    int64_t devices = 0;
    for (size_t t = 0; t < timelines.size(); ++t) {
      if (timelines[t].rank != step.rank) continue;
      ++devices;
      const std::vector<Slice>& slices = timelines[t].slices;
      // Times that run backwards are rare, but a step may then begin before the last one's.
      while (next[t] > 0 && slices[next[t] - 1].end_ns > step.start_ns) --next[t];
      while (next[t] < slices.size() && slices[next[t]].end_ns <= step.start_ns) ++next[t];
      for (size_t s = next[t]; s < slices.size() && slices[s].start_ns < step.end_ns; ++s) {
        Add(slices[s], {step.start_ns, step.end_ns}, sum);
      }
    }
    if (devices > 0) step.ns = MeanOf(sum, devices);
    steps.push_back(step);
  }
  return steps;
}

// True for a job that takes its batches inside a compiled function while no profiler was open: its
// steps have no wait of their own.
bool HidesWaits(const model::Run& run) {
  const bool unseen = std::any_of(run.stages.begin(), run.stages.end(), [](const auto& stage) {
    return stage.kind == trace::kUnseenPipeline;
  });
  return model::IsJob(run) && unseen && !run.rows.steps.empty() &&
         std::all_of(run.rows.steps.begin(), run.rows.steps.end(),
                     [](const auto& step) { return step.received_ns == step.requested_ns; });
}

void SayWhatIsKnown(const model::Run& run, bool device_tracks, Partition& partition) {
  partition.known.fill(true);
  const auto limit = [&](Category category, const char* why) {
    partition.known[At(category)] = false;
    partition.limits.push_back(std::string(WordFor(category)) + ": " + why);
  };
  if (run.rows.steps.empty()) {
    partition.limits.push_back(
        "no steps are recorded: the whole recording is analyzed as one stretch of time");
    limit(Category::kInputStall, "without steps it is unknown when the trainer waited for a batch");
  }
  if (run.imported() && !run.rows.steps.empty() && BatchWaits(run).empty()) {
    limit(Category::kInputStall,
          "this file shows no batch fetches, so it is unknown when the trainer waited for one; "
          "name the data loader's calls while profiling");
  }
  if (HidesWaits(run)) {
    limit(Category::kInputStall,
          "the trainer takes its batches inside a compiled function, so only the framework's "
          "profiler shows when it waits for one; record more steps, without --profile off");
    if (!device_tracks) {
      limit(Category::kCompute, "it cannot be separated from waiting for a batch");
    }
  }
  if (!device_tracks) {
    limit(Category::kTransfer, "no device track is recorded");
    limit(Category::kLaunch, "no device track is recorded");
    // A recorded pipeline has the replicas of its spec; another run may have any number.
    const bool may_have = run.imported() || model::IsJob(run);
    if (may_have && run.info.world_size != 1) {
      limit(
          Category::kCommunication,
          "no device track is recorded, so it is unknown whether and when replicas exchange data");
    }
    if (!run.rows.steps.empty()) {
      partition.limits.push_back(
          "no device track is recorded: what the trainer does between receiving a batch and the "
          "step's end counts as compute, even while it is ready without a core");
    } else {
      limit(Category::kCompute, "neither steps nor a device track are recorded");
    }
  }
  const bool copies = !run.rows.copies.empty();
  if (device_tracks && !copies && run.imported()) {
    limit(Category::kTransfer, "this file contains no copies");
  }
}

}  // namespace

bool FeedsSteps(const model::Run& run, StageId stage) {
  if (!stage.known()) return true;
  const LoaderId of = run.stages[stage.value].loader;
  return std::none_of(run.loaders.begin(), run.loaders.end(), [&](const model::Loader& loader) {
    return loader.info.id == of && loader.steps == 0;
  });
}

bool IsCommunication(std::string_view kernel) {
  std::string name;
  for (const char c : kernel) {
    if (c != '_' && c != '-')
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  constexpr std::array<std::string_view, 8> kWords = {
      "nccl",          "rccl",     "allreduce",   "allgather",
      "reducescatter", "alltoall", "mscclkernel", "collectivepermute"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

std::vector<Slice> Sweep(Activity activity, Interval window) {
  for (Intervals& intervals : activity) intervals = UnionWithin(std::move(intervals), window);
  std::array<size_t, kCategories> next{};
  std::vector<Slice> slices;
  int64_t now = window.start_ns;
  while (now < window.end_ns) {
    Category category = Category::kOther;
    int64_t until = window.end_ns;
    for (size_t c = 0; c < kCategories; ++c) {
      const Intervals& mine = activity[c];
      while (next[c] < mine.size() && mine[next[c]].end_ns <= now) ++next[c];
      if (next[c] == mine.size()) continue;
      if (mine[next[c]].start_ns > now) {
        until = std::min(until, mine[next[c]].start_ns);
        continue;
      }
      until = std::min(until, mine[next[c]].end_ns);
      category = static_cast<Category>(c);
      break;  // what ranks lower does not matter while this lasts
    }
    if (!slices.empty() && slices.back().category == category) {
      slices.back().end_ns = until;
    } else {
      slices.push_back({now, until, category});
    }
    now = until;
  }
  return slices;
}

PerCategory<int64_t> MeanOf(const PerCategory<int64_t>& sum, int64_t devices) {
  PerCategory<int64_t> mean{};
  int64_t left = 0;
  for (size_t c = 0; c < kCategories; ++c) {
    mean[c] = sum[c] / devices;
    left += sum[c] % devices;
  }
  for (size_t c = 0; c < kCategories && left >= devices; ++c) {
    if (sum[c] % devices == 0) continue;
    ++mean[c];
    left -= devices;
  }
  return mean;
}

Partition PartitionWindow(const model::Run& run, const Window& window,
                          const std::vector<model::StepInterval>& intervals) {
  std::map<DeviceKey, Activity> devices = DeviceActivities(run);
  const bool device_tracks = !devices.empty();
  std::set<uint32_t> with_devices;  // ranks
  for (const auto& [key, activity] : devices) with_devices.insert(key.first);
  // Every step's time has a device to be shared out on.
  for (size_t i = 0; i < run.rows.steps.size(); ++i) {
    if (with_devices.count(run.RankOfStep(i)) == 0) devices[{run.RankOfStep(i), 0}];
  }
  if (devices.empty()) devices[{run.info.rank, 0}];
  AddKernels(run, kEver, devices);
  AddCopies(run, kEver, devices);
  if (run.imported() || model::IsJob(run)) AddDeviceSpans(run, devices);
  AddHost(run, with_devices, devices);
  const std::optional<Window> seen = run.imported() ? std::nullopt : ProfiledWindow(run, intervals);
  if (seen.has_value()) {
    std::map<DeviceKey, Activity> issued;
    AddKernels(run, Range(*seen), issued);
    AddCopies(run, Range(*seen), issued);
    std::map<uint32_t, std::vector<model::StepInterval>> of_ranks;
    for (size_t i = 0; i < intervals.size(); ++i) {
      of_ranks[run.RankOfStep(i)].push_back(intervals[i]);
    }
    for (auto& [key, activity] : devices) {
      const Intervals beside = TimesBesideSteps(run, key.first);
      FillUnseen(run, of_ranks[key.first], {*seen, issued[key], beside}, activity);
    }
  }

  Partition partition;
  PerCategory<int64_t> sum{};
  for (auto& [key, activity] : devices) {
    DeviceTimeline timeline{key.first, key.second, Sweep(std::move(activity), Range(window))};
    for (const Slice& slice : timeline.slices) Add(slice, Range(window), sum);
    partition.timelines.push_back(std::move(timeline));
  }
  partition.ns = MeanOf(sum, static_cast<int64_t>(partition.timelines.size()));
  partition.steps = ShareSteps(run, window, intervals, partition.timelines);
  SayWhatIsKnown(run, device_tracks, partition);
  return partition;
}

}  // namespace stallscope::attribution
