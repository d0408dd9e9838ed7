#include "replay/workload/change.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "analyzer/plan/plan.h"
#include "analyzer/spec/knobs.h"
#include "analyzer/spec/op_times.h"
#include "replay/workload/job_change.h"
#include "replay/workload/op_change.h"

namespace stallscope::replay {
namespace {

// Half of a 90% interval, as a part of the throughput; METHOD.md says where they come from.
constexpr double kWorkersDoubt = 0.03;  // for each doubling: caches and memory bandwidth are shared
constexpr double kBatchDoubt = 0.02;    // for each doubling
constexpr double kDeviceDoubt = 0.15;   // of a device whose time for a batch was seen once
constexpr double kThreadsDoubt = 0.03;  // a stage gets threads of its own, or loses them
constexpr double kTunedDoubt = 0.15;    // what "auto" will come to
constexpr double kStoreDoubt = 0.08;    // a store that was not there
constexpr double kFormatDoubt = 0.08;   // files of another format
constexpr double kNoDiskDoubt = 0.15;   // a disk that is not throttled any more
constexpr double kRewriteDoubt = 0.05;
constexpr double kFuseDoubt = 0.25;      // of the share of kernels that may be fused
constexpr double kTransferDoubt = 0.03;  // what runs beside what
constexpr double kUpdateDoubt = 0.03;    // what an update costs that waits for several batches
constexpr double kMostDoubt = 0.7;
// Of what the run read, or of its time: from here on it waits for a disk, or for a file system over
// the network. A thread that loses its core in a read also waits a little.
constexpr double kReadsFromDisk = 0.1;
// Of the recorded steps' time: what the model does not explain is told from here on.
constexpr double kUnexplained = 0.10;

constexpr const char* kRecordIt = "; record a few steps with the change";
constexpr const char* kPadded = "one run cannot tell what other padding costs";

constexpr const char* kStoredOnDisk = "one run cannot tell what a store on disk costs";
constexpr const char* kFromPageCache =
    ": assumes that records are read at the usual speed, from the page cache";
constexpr const char* kProbedStore =
    ": assumes that all of it reads as fast as the part that a short probe run wrote";

// Rounded, so that a logarithm's last bit, which depends on the processor, does not matter.
double Doublings(double ratio) { return std::round(std::fabs(std::log2(ratio)) * 1e6) / 1e6; }

// Compares the recorded spec with the one that is asked for, change by change.
class SpecComparison {
 public:
  SpecComparison(const Recorded& recorded, const Spec& to)
      : recorded_(recorded), from_(recorded.spec), to_(to) {}

  std::string unpriceable;
  std::string unprobed;
  double doubt = 0;
  std::vector<std::string> assumptions;
  std::shared_ptr<const OpChange> ops;

  void Compare() {
    if (!recorded_.unseen.empty()) CompareUnseen();
    if (BatchSize(from_) != BatchSize(to_)) CompareBatch();
    for (const StageSpec& stage : to_.stages) {
      const StageSpec* before = Find(from_, stage.name);
      if (before == nullptr) {
        std::visit([&](const auto& kind) { Inserted(stage.name, kind); }, stage.kind);
      } else if (before->kind.index() != stage.kind.index()) {
        Cannot(stage.name, "its kind has changed");
      } else {
        std::visit(
            [&](const auto& kind) {
              using Kind = std::decay_t<decltype(kind)>;
              Kept(stage.name, std::get<Kind>(before->kind), kind);
            },
            stage.kind);
      }
    }
    for (const StageSpec& stage : from_.stages) {
      if (Find(to_, stage.name) != nullptr) continue;
      std::visit([&](const auto& kind) { Removed(stage.name, kind); }, stage.kind);
    }
    CompareTransfer();
    CompareTrainer();
    CompareRewrites();
    doubt = std::min(doubt, kMostDoubt);
  }

 private:
  static const StageSpec* Find(const Spec& spec, const std::string& name) {
    const auto at = std::find_if(spec.stages.begin(), spec.stages.end(),
                                 [&](const StageSpec& stage) { return stage.name == name; });
    return at == spec.stages.end() ? nullptr : &*at;
  }

  // The first reason counts.
  void Cannot(const std::string& path, const std::string& why) {
    if (!unpriceable.empty()) return;
    unpriceable = path + ": " + why + kRecordIt;
  }
  // Reading that the run does not show, at its usual speed. What came from a disk says nothing of
  // how fast that reads other files. False if there is no price.
  bool ReadAtUsualSpeed(const std::string& path, const std::string& why) {
    const auto source = recorded_.stages.find(from_.stages.front().name);
    const bool seen = source != recorded_.stages.end() && !source->second.items.empty();
    const double waits = seen ? source->second.mean_io_ns * recorded_.samples_per_s / 1e9 : 0;
    if (!seen || recorded_.made_up_spec || std::max(recorded_.from_disk, waits) > kReadsFromDisk) {
      Cannot(path, why);
      return false;
    }
    if (unprobed.empty()) unprobed = path + ": " + why + kRecordIt;
    return true;
  }
  void Doubt(double more, std::string assumption = "") {
    doubt = std::sqrt(doubt * doubt + more * more);
    if (!assumption.empty()) assumptions.push_back(std::move(assumption));
  }

  // A stage that is known only from outside stays as it is, or is unpriceable.
  void CompareUnseen() {
    const auto& [name, how] = *recorded_.unseen.begin();
    if (from_.stages != to_.stages && unpriceable.empty()) {
      unpriceable = fmt::format("{}: {}", name, how);
    }
  }

  // More or less of the host's work at a time: what that brings depends on the cores, and on
  // whether the work burns them.
  void SideBySide(const std::string& path) {
    std::string missing;
    if (!recorded_.cores_known) missing = "how many cores the machine has";
    if (!recorded_.cpu_known) {
      missing += missing.empty() ? "" : ", or ";
      missing += "when the loader's threads were on a core and when they waited";
    }
    if (!missing.empty()) Cannot(path, "this trace does not say " + missing);
  }

  // `each`: the doubt of a doubling, where the knob is a number of workers; else 0.
  void CompareKnob(const std::string& path, const Knob& before, const Knob& now, double each) {
    if (before == now) return;
    if (each > 0) SideBySide(path);
    if (now.automatic) {
      if (recorded_.tuned.count(path) == 0) {
        Doubt(kTunedDoubt, path +
                               ": assumes that the tuner finds what the cores can feed, which "
                               "takes it seconds: a short run gains less");
      }
      return;
    }
    const auto value = [&](const Knob& knob) {
      const auto tuned = recorded_.tuned.find(path);
      const bool known = knob.automatic && tuned != recorded_.tuned.end();
      return static_cast<double>(std::max<int64_t>(1, known ? tuned->second : knob.value));
    };
    Doubt(each * Doublings(value(now) / value(before)));
    if (each > 0 && plan::HasThreads(before) != plan::HasThreads(now)) Doubt(kThreadsDoubt);
  }

  void CompareBatch() {
    const double ratio =
        static_cast<double>(BatchSize(to_)) / static_cast<double>(BatchSize(from_));
    const double doublings = Doublings(ratio);
    Doubt(kBatchDoubt * doublings);
    if (to_.trainer.device == TrainerDevice::kEmulated && !recorded_.made_up_spec) return;
    Doubt(kDeviceDoubt * doublings,
          "batch.size: assumes that the device's time grows with the batch; one size was recorded");
  }

  void Kept(const std::string& name, const SourceSpec& before, const SourceSpec& now) {
    if (before.format != now.format) {
      constexpr const char* kWhy = "one run cannot tell what another format costs";
      const bool converted = FormConverted(before.format, 1, now.format).has_value();
      if (!converted || before.files.empty() || now.throttle_bytes_per_s > 0) {
        return Cannot(name + ".format", kWhy);
      }
      if (!ReadAtUsualSpeed(name + ".format", kWhy)) return;
      Doubt(kFormatDoubt, name + ".format" + kFromPageCache);
    } else if (before.files != now.files) {
      return Cannot(name + ".files", "one run cannot tell what other data costs");
    }
    CompareKnob(name + ".parallelism", before.parallelism, now.parallelism, kWorkersDoubt);
    CompareKnob(name + ".cycle_length", before.cycle_length, now.cycle_length, 0);
    if (before.throttle_bytes_per_s > 0 && now.throttle_bytes_per_s == 0) {
      Doubt(kNoDiskDoubt,
            name + ".throttle_bytes_per_s: assumes that the data is in the page cache");
    }
  }
  void Kept(const std::string& name, const MapSpec& before, const MapSpec& now) {
    CompareKnob(name + ".parallelism", before.parallelism, now.parallelism, kWorkersDoubt);
  }
  void Kept(const std::string& name, const FilterSpec& before, const FilterSpec& now) {
    if (before.op != now.op) Cannot(name + ".op", "one run cannot tell what another filter keeps");
  }
  void Kept(const std::string& name, const CacheSpec& before, const CacheSpec& now) {
    if (before.where != now.where) {
      Cannot(name + ".where", "one run cannot tell what a store in another place costs");
    }
  }
  void Kept(const std::string& name, const SnapshotSpec& before, const SnapshotSpec& now) {
    if (before.path != now.path) {
      Cannot(name + ".path", "a snapshot is written in one run and read in later ones");
    }
  }
  void Kept(const std::string& name, const BucketByLengthSpec& before,
            const BucketByLengthSpec& now) {
    if (before.width != now.width) Cannot(name + ".width", kPadded);
  }
  void Kept(const std::string& name, const BatchSpec& before, const BatchSpec& now) {
    if (before.pad != now.pad) Cannot(name + ".pad", "one run cannot tell what padding costs");
    const bool captured = from_.trainer.graph == GraphMode::kCaptured;
    if (captured && before.drop_remainder != now.drop_remainder) {
      Cannot(name + ".drop_remainder", "captures are not recorded separately");
    }
    CompareKnob(name + ".parallelism", before.parallelism, now.parallelism, kWorkersDoubt);
  }
  void Kept(const std::string& name, const PrefetchSpec& before, const PrefetchSpec& now) {
    if (now.buffer_size.automatic) {
      CompareKnob(name + ".buffer_size", before.buffer_size, now.buffer_size, 0);
    }
  }
  // Shuffle, repeat, shard: structure alone.
  template <class Kind>
  void Kept(const std::string&, const Kind&, const Kind&) {}

  // Whether a probe has filled and read it.
  bool WasProbed(const std::string& name) const {
    const auto costs = recorded_.stages.find(name);
    return costs != recorded_.stages.end() && !costs->second.hits.empty();
  }

  void Inserted(const std::string& name, const CacheSpec& cache) {
    const bool on_disk = cache.where == CacheWhere::kDisk;
    const bool usual = on_disk && !WasProbed(name);
    if (usual && !ReadAtUsualSpeed(name, kStoredOnDisk)) return;
    if (!recorded_.elements_per_epoch.has_value()) {
      return Cannot(name, "the run ended before its first pass over the data did");
    }
    Doubt(kStoreDoubt, !on_disk ? name + ": assumes that elements are copied in and out at 4 GB/s"
                                : name + (usual ? kFromPageCache : kProbedStore));
  }
  void Inserted(const std::string& name, const SnapshotSpec&) {
    const bool usual = !WasProbed(name);
    if (usual && !recorded_.elements_per_epoch.has_value()) {
      return Cannot(name, "the run ended before its first pass over the data did");
    }
    if (usual && !ReadAtUsualSpeed(name, "a snapshot is written in one run and read in later ones"))
      return;
    Doubt(kStoreDoubt, name + (usual ? kFromPageCache : kProbedStore) +
                           ", and that an earlier run has written it");
  }
  void Inserted(const std::string& name, const FilterSpec&) {
    Cannot(name, "one run cannot tell what a new filter keeps");
  }
  void Inserted(const std::string& name, const BucketByLengthSpec&) { Cannot(name, kPadded); }
  void Inserted(const std::string& name, const BatchSpec&) {
    Cannot(name, "one run cannot tell what a new batch costs");
  }
  void Inserted(const std::string& name, const SourceSpec&) {
    Cannot(name, "one run cannot tell what another source costs");
  }
  void Inserted(const std::string& name, const PrefetchSpec&) {
    SideBySide(name);
    Doubt(kThreadsDoubt);
  }
  template <class Kind>
  void Inserted(const std::string&, const Kind&) {}

  // What a text holds comes from the converted files as pixels.
  bool ParsedBefore(const OpCall& op) const {
    return op.name() == "decode_csv" &&
           std::get<SourceSpec>(to_.stages.front().kind).format == SourceFormat::kRaw;
  }

  void Removed(const std::string& name, const MapSpec& map) {
    const std::vector<OpCall> calls = OpsOf(map);
    // Without a cast, a resize or a crop the stages behind it get values of another type or size,
    // for which there are usual times (op_change.h).
    if (std::all_of(calls.begin(), calls.end(), [&](const OpCall& op) {
          return StatesItsCost(op) || op.op->batched || MakesOneSize(op) || ParsedBefore(op);
        })) {
      return;
    }
    Cannot(name, "one run cannot tell what the stages behind it cost without it");
  }
  void Removed(const std::string& name, const FilterSpec&) {
    Cannot(name, "one run cannot tell what the stages behind it cost without it");
  }
  void Removed(const std::string& name, const BucketByLengthSpec&) { Cannot(name, kPadded); }
  void Removed(const std::string& name, const BatchSpec&) {
    Cannot(name, "one run cannot tell what a step without a batch costs");
  }
  void Removed(const std::string& name, const SourceSpec&) {
    Cannot(name, "one run cannot tell what another source costs");
  }
  void Removed(const std::string& name, const CacheSpec&) { RemovedStore(name); }
  void Removed(const std::string& name, const SnapshotSpec&) { RemovedStore(name); }
  void Removed(const std::string& name, const PrefetchSpec&) {
    SideBySide(name);
    Doubt(kThreadsDoubt);
  }
  template <class Kind>
  void Removed(const std::string&, const Kind&) {}

  void RemovedStore(const std::string& name) {
    const auto source = recorded_.stages.find(from_.stages.front().name);
    if (source == recorded_.stages.end() || source->second.items.empty()) {
      Cannot(name,
             "the run read everything from it and does not show what the stages before it cost");
    }
  }

  void CompareTransfer() {
    if (recorded_.imported && from_.transfer != to_.transfer) {
      return Cannot("transfer",
                    "an imported trace does not show which of the trainer's own work could overlap "
                    "with its copies and its device");
    }
    const bool emulated = from_.trainer.device == TrainerDevice::kEmulated;
    if (from_.transfer.dtype != to_.transfer.dtype && emulated) {
      assumptions.emplace_back(
          "transfer.dtype: an emulated device converts values in no time; a real one takes some");
    }
    if (from_.transfer.pinned != to_.transfer.pinned && !emulated &&
        from_.trainer.device != TrainerDevice::kHost) {
      Cannot("transfer.pinned", "one run cannot tell how fast the other kind of memory is copied");
    }
    if (from_.transfer.streams != to_.transfer.streams && !emulated) {
      Cannot("transfer.streams", "one run does not show the latency of a copy");
    }
    if (from_.transfer != to_.transfer) Doubt(kTransferDoubt);
  }

  void CompareTrainer() {
    const TrainerSpec& before = from_.trainer;
    const TrainerSpec& now = to_.trainer;
    if (before.device != now.device) {
      Cannot("trainer.device", "one run cannot tell how fast another device is");
    }
    if (before.strategy != now.strategy) {
      Cannot("trainer.strategy", "one run cannot tell what other replicas cost");
    }
    if (before.accumulate != now.accumulate) CompareUpdates();
    // An emulated device takes the time that the spec says, whatever it computes; only the number
    // of launches depends on the model.
    const bool by_figures = before.device == TrainerDevice::kEmulated;
    if (by_figures && before.precision != now.precision) {
      assumptions.push_back(
          fmt::format("trainer.precision: the emulated device is {:.3g} times as fast in {}, "
                      "according to its spec",
                      EmulatedSpeed(now) / EmulatedSpeed(before), ToWord(now.precision)));
    }
    const bool launches = Resolved(now.emulated).launch_us > 0 && now.graph == GraphMode::kEager;
    if (by_figures && !launches) return;
    if (before.precision != now.precision) {
      Cannot("trainer.precision", "one run cannot tell what another precision costs");
    }
    if (before.fuse != now.fuse && !(by_figures && now.fuse)) {
      Cannot("trainer.fuse", "one run cannot tell how many kernels are left");
    } else if (before.fuse != now.fuse) {
      Doubt(kFuseDoubt * recorded_.trainer.neighbors,
            "trainer.fuse: assumes that elementwise kernels right behind another become a part of "
            "it");
    }
    if (before.model != now.model || before.optimizer != now.optimizer) {
      Cannot("trainer.model", "one run cannot tell what another model costs");
    }
    if (before.graph != now.graph && !by_figures) {
      Cannot("trainer.graph", "one run cannot tell what launching in another way costs");
    }
  }

  void CompareUpdates() {
    constexpr const char* kPath = "trainer.accumulate";
    if (recorded_.made_up_spec) {
      return Cannot(kPath, "the trace does not show which of the device's work is an update's");
    }
    if (from_.trainer.device == TrainerDevice::kEmulated) {
      assumptions.push_back(std::string(kPath) +
                            ": the emulated device takes as long for a step without an update");
      return;
    }
    if (recorded_.trainer.update_ns <= 0) {
      return Cannot(kPath, "the run does not show what an update takes");
    }
    Doubt(kUpdateDoubt, std::string(kPath) +
                            ": assumes that a batch's gradients are added at the speed at which "
                            "the optimizer passes over memory");
  }

  // What the rewrites did, not what was asked for: one that the plan refuses changes nothing.
  void CompareRewrites() {
    const auto before = plan::Lower(from_);
    const auto now = plan::Lower(to_);
    if (!before.ok() || !now.ok()) {
      const Error& error = before.ok() ? now.error() : before.error();
      if (unpriceable.empty()) unpriceable = fmt::format("{}: {}", error.where, error.what);
      return;
    }
    const auto did = [](const plan::Graph& graph, const char* name) {
      return std::count(graph.rewrites.begin(), graph.rewrites.end(), name) != 0;
    };
    if (did(before.value(), "map_and_batch") && !did(now.value(), "map_and_batch")) {
      Cannot("rewrites.map_and_batch", "the run does not show what the batch costs by itself");
    }
    const auto differs = [&](const char* name) {
      return did(before.value(), name) != did(now.value(), name);
    };
    CompareTimesOfOps();
    if (differs("map_fusion") || differs("map_and_batch") || differs("shuffle_before_decode")) {
      Doubt(kRewriteDoubt);
    }
  }

  // Whatever made the ops others: a setting, a rewrite, a map on the device.
  void CompareTimesOfOps() {
    ops = std::make_shared<const OpChange>(CompareOps(recorded_, to_));
    if (!ops->unpriceable.empty()) {
      if (unpriceable.empty()) unpriceable = ops->unpriceable + kRecordIt;
      return;
    }
    const bool on_device = ops->device.more_cpu_ns > 0;
    if (on_device && to_.trainer.device == TrainerDevice::kEmulated) {
      assumptions.push_back(
          fmt::format("trainer.emulated.op_gbps: the emulated device reads and writes an op's "
                      "values at {:g} GB/s, according to its spec",
                      Resolved(to_.trainer.emulated).op_gbps));
    } else if (on_device) {
      assumptions.emplace_back(
          "ops on the device: assumes that they take between a tenth and a hundredth of a core's "
          "time");
    }
    if (!ops->assumed) return;
    std::string changed;
    for (const auto* costs : {&ops->stages, &ops->whole}) {
      for (const auto& [name, cost] : *costs) {
        const bool said = std::any_of(
            assumptions.begin(), assumptions.end(),
            [&](const std::string& assumption) { return assumption.starts_with(name); });
        if (cost.error > 0 && !said) changed += (changed.empty() ? "" : ", ") + name;
      }
    }
    if (changed.empty() && ops->convert == ChangedCost()) return;
    if (changed.empty()) changed = "transfer.dtype";
    assumptions.push_back(changed +
                          ": assumes that other ops and copies take what is usual beside the "
                          "recorded ones");
  }

  const Recorded& recorded_;
  const Spec& from_;
  const Spec& to_;
};

Changed WithJob(const Workload& workload, Spec spec) {
  JobChange change = CompareJob(*workload.recorded, spec);
  Changed changed{workload, std::move(change.unpriceable), "", std::move(change.by_name_only)};
  changed.workload.spec = std::move(spec);
  changed.workload.doubt = change.doubt;
  changed.workload.assumptions = std::move(change.assumptions);
  const double off = workload.calibration.has_value() ? workload.calibration->off : 0;
  if (std::fabs(off) >= kUnexplained) {
    changed.workload.assumptions.push_back(fmt::format(
        "the recorded steps: the model makes them {:.0f}% {} than they were, which it cannot "
        "explain",
        100 * std::fabs(off), off > 0 ? "longer" : "shorter"));
  }
  return changed;
}

}  // namespace

Changed WithSpec(const Workload& workload, Spec spec) {
  if (workload.recorded->job != nullptr) return WithJob(workload, std::move(spec));
  SpecComparison comparison(*workload.recorded, spec);
  comparison.Compare();
  Changed changed{workload, std::move(comparison.unpriceable), std::move(comparison.unprobed), ""};
  changed.workload.spec = std::move(spec);
  changed.workload.doubt = comparison.doubt;
  changed.workload.assumptions = std::move(comparison.assumptions);
  changed.workload.ops = std::move(comparison.ops);
  return changed;
}

Result<Changed> WithPatch(const Workload& workload, const Patch& patch) {
  STALLSCOPE_ASSIGN_OR_RETURN(Spec spec, Apply(workload.spec, patch));
  return WithSpec(workload, std::move(spec));
}

Result<Changed> WithSettings(const Workload& workload, const std::vector<std::string>& settings) {
  STALLSCOPE_ASSIGN_OR_RETURN(Spec spec, ApplySettings(workload.spec, settings));
  return WithSpec(workload, std::move(spec));
}

}  // namespace stallscope::replay
