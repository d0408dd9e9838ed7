// Row 13: what each step costs once is spread over too few samples, also where gradients accumulate
// over small batches.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::batch_size {
namespace {

// Launches, reductions and the latency of copies take as long for two samples as for one. A
// reduction that several batches share depends on how many samples an update has.
double ShareOncePerStep(const Case& c) {
  double share = 0;
  if (LaunchesAreWorth(c)) share += Share(c, Category::kLaunch);
  if (BatchesPerUpdate(c) == 1 && Worth(c, Category::kCommunication)) {
    share += Share(c, Category::kCommunication);
  }
  if (Worth(c, Category::kTransfer)) {
    share += LatencyPartOfCopies(c) * Share(c, Category::kTransfer);
  }
  return share;
}

// A narrow type halves a step's device memory: a larger batch may use the rest.
bool LeavesRoom(const Case& c) {
  if (!c.spec.has_value() || c.verdict.bound != Bound::kCompute) return false;
  const Precision precision = c.spec->trainer.precision;
  if (precision != Precision::kFp16 && precision != Precision::kBf16) return false;
  const std::optional<DeviceRoom> memory = DeviceRoomOf(c);
  return memory.has_value() && 2 * memory->peak <= kMemoryRisk * memory->limit;
}

// An epoch has enough samples for one batch of this size, as far as is known.
bool EpochFills(const Case& c, int64_t size) {
  const auto elements = static_cast<int64_t>(ElementsOfEpoch(c));
  return elements == 0 || size <= elements;
}

// Doubles the batch of `now` samples while the fixed cost is a large part of a step, the device has
// room, and an epoch fills it.
int64_t FactorFor(const Case& c, double share, int64_t now) {
  const std::optional<DeviceRoom> memory = DeviceRoomOf(c);
  const auto fits = [&](int64_t factor) {
    return EpochFills(c, factor * now) &&
           (!memory.has_value() ||
            static_cast<double>(factor) * memory->peak <= kMemoryRisk * memory->limit);
  };
  int64_t factor = 2;
  const auto still_fixed = [&] {
    return share / (share + (1 - share) * static_cast<double>(factor)) > kStillFixed;
  };
  while (factor < kMostBatchFactor && still_fixed() && fits(2 * factor)) {
    factor *= 2;
  }
  return factor;
}

// Larger batches, of which fewer make an update, teach the same: the largest part of the factor by
// which that is possible, or 1.
int64_t PartOfUpdate(const Case& c, int64_t factor) {
  while (BatchesPerUpdate(c) % factor != 0) factor /= 2;
  return factor;
}

StageId BatchStage(const Case& c) {
  StageId batch;
  for (const auto& stage : c.run.stages) {
    if (RoleOf(c, stage.id) == StageRole::kBatch) batch = stage.id;
  }
  return batch;
}

std::string WhatIsFixed(const Case& c, double computed) {
  std::string text = BatchesPerUpdate(c) > 1
                         ? KnownShares(c, {Category::kLaunch})
                         : KnownShares(c, {Category::kLaunch, Category::kCommunication});
  if (!text.empty()) text += " of step time";
  const auto add = [&](std::string_view what, double share) {
    if (share < kLeastSaid) return;
    text += fmt::format("{}{}, {}", text.empty() ? "" : "; ", what, Percent(share));
  };
  add("the latency of copies", LatencyPartOfCopies(c) * Share(c, Category::kTransfer));
  add("compute that does not grow with the batch", computed);
  return text;
}

void Check(const Case& c, const Load* load, std::vector<Draft>& drafts) {
  double share = ShareOncePerStep(c);
  const bool has_room = LeavesRoom(c);
  if (load == nullptr || (share < kModerateShare && !has_room)) return;
  const double computed = FixedPartOfCompute(c) * Share(c, Category::kCompute);
  share += computed;
  const StageId batch = BatchStage(c);
  const auto* spec = As<BatchSpec>(c, batch);
  // Most foreign traces do not show how many samples a step has: the gain is known, the size is
  // not.
  const auto& steps = c.attribution.steps;
  const bool known = spec != nullptr || std::any_of(steps.begin(), steps.end(),
                                                    [](const auto& s) { return s.samples > 0; });
  const auto now = spec != nullptr ? spec->size : static_cast<int64_t>(load->batch + 0.5);
  if (known && !EpochFills(c, 2 * now)) return;
  const int64_t batches = BatchesPerUpdate(c);
  int64_t factor = has_room || !known ? 2 : FactorFor(c, share, now);
  const bool same_update = spec != nullptr && PartOfUpdate(c, factor) > 1;
  if (same_update) factor = PartOfUpdate(c, factor);
  std::string text = fmt::format(
      "{} of step time is a fixed cost per step, {}", Percent(share),
      known ? fmt::format("spread over {}", Counted(static_cast<uint64_t>(now), "sample"))
            : "whatever the batch size");
  if (has_room) {
    const DeviceRoom memory = *DeviceRoomOf(c);
    text = fmt::format("{} leaves more than half of the device's memory free: {} of {} is in use",
                       ToWord(c.spec->trainer.precision), Bytes(memory.peak), Bytes(memory.limit));
  }
  Draft draft = About(c, batch, share, std::move(text));
  Show(draft, Evidence::Kind::kStep, WhatIsFixed(c, computed));
  draft.args.value = known ? std::to_string(factor * now) : "2 * batch_size";
  const double peak = DeviceRoomOf(c).value_or(DeviceRoom{}).peak;
  const std::string rest =
      same_update
          ? fmt::format("accumulate over {} instead of {}: an update has as many samples as now",
                        batches / factor, batches)
          : "scale the learning rate accordingly";
  std::string advice = fmt::format(
      "{}use batches {}, and {}", BeforeMoreDeviceMemory(c, peak * static_cast<double>(factor - 1)),
      known ? fmt::format("of {}", factor * now) : std::string("twice as large"), rest);
  Patch patch = spec != nullptr ? Setting(NameOf(c, batch) + ".size", factor * now) : Patch();
  if (same_update) {
    patch.changes.emplace_back(SetTo("trainer.accumulate", batches / factor));
    if (batches > factor) draft.advice = &kAccumulate;
    draft.args.batches = std::to_string(batches / factor);
  }
  if (has_room && ComputesReally(c)) {
    RecommendUnpriced(draft, std::move(advice), std::move(patch),
                      "one batch size does not show how compute grows with it: replay the run with "
                      "the change");
  } else {
    Recommend(draft, std::move(advice), std::move(patch),
              WithLargerBatch(c, batch, static_cast<double>(factor),
                              same_update ? static_cast<double>(factor) : 1));
  }
  CostsMemory(draft, BytesOfBatch(c) * static_cast<double>(factor - 1));
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "batch-size",
    .row = 13,
    .shortens =
        Parts(Category::kLaunch, Category::kCommunication, Category::kTransfer, Category::kCompute),
    .check = Check,
    .advice =
        {
            .tf_data = R"py(ds = ds.batch({value}))py",
            .pytorch = R"py(loader = DataLoader(dataset, batch_size={value}))py",
            .dali = R"py(@pipeline_def(batch_size={value}, num_threads=4, device_id=0)
def pipe(): ...)py",
            .grain = R"py(ds = ds.batch({value}))py",
        },
    .alters = true};

}  // namespace stallscope::findings::batch_size
