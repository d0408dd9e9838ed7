#include "replay/workload/op_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/plan/plan.h"
#include "analyzer/spec/op_times.h"

namespace stallscope::replay {
namespace {

// What usual times leave out: how ops share the caches with their neighbors.
constexpr double kRatioError = 0.05;
// Of the same work on more bytes at a time, or fewer: what they do to the caches.
constexpr double kSizeError = 0.15;
// Of a time that no recorded one of this machine stands for.
constexpr double kSpeedError = 0.5;
constexpr double kUnknownSpeedError = 1;

// Ops of a map, or a part of it, and what they get.
struct Work {
  std::vector<std::string> ops;  // without those that state their cost
  Cost stated;
  std::optional<SampleForm> gets;  // nothing: another op before them hides it
  std::optional<SampleForm> gives;
  std::optional<std::vector<UsualTime>> times;  // nothing: one of them has no usual time

  bool SameAs(const Work& other) const {
    if (ops != other.ops || gets.has_value() != other.gets.has_value()) return false;
    return !gets.has_value() ||
           (gets->decoded == other.gets->decoded && gets->value_bytes == other.gets->value_bytes &&
            gets->pixels == other.gets->pixels);
  }
  double UsualNs() const {
    double ns = 0;
    if (times.has_value()) {
      for (const UsualTime& time : *times) ns += time.ns;
    }
    return ns;
  }
};

Cost StatedBy(const OpCall& op) {
  // On average: only one in `every` elements pays.
  const double ns =
      op.Number("us") * 1e3 / static_cast<double>(std::max<int64_t>(1, op.Integer("every")));
  Cost cost;
  (op.name() == "busy" ? cost.cpu_ns : cost.blocked_ns) = static_cast<float>(ns);
  return cost;
}

SourceFormat FormatOf(const Spec& spec) {
  return std::get<SourceSpec>(spec.stages.front().kind).format;
}

double LinkBytes(TransferDtype dtype) {
  return dtype == TransferDtype::kUint8 ? 1 : dtype == TransferDtype::kFloat16 ? 2 : 4;
}

// A spec's way from the source to the device, with what each part gets.
struct Way {
  std::map<std::string, Work, std::less<>> maps;
  std::map<std::string, Work, std::less<>> whole;
  std::map<std::string, double, std::less<>> copied;  // bytes of a sample, by batch and store
  std::vector<Work> device;                           // op by op
  SampleForm read;                                    // as the source hands it on
  std::optional<SampleForm> batch;                    // as the trainer gets it
  double link_bytes = 4;                              // of each value
};

class WayWalker {
 public:
  WayWalker(const Recorded& recorded, const Spec& spec, double file_factor) {
    const auto source = recorded.stages.find(spec.stages.front().name);
    double bytes = source != recorded.stages.end() ? source->second.bytes * file_factor : 0;
    const auto& read = std::get<SourceSpec>(spec.stages.front().kind);
    if (read.files.empty() && !recorded.made_up_spec) bytes = static_cast<double>(read.bytes);
    const SourceFormat before = FormatOf(recorded.spec);
    way_.read = read.format == before
                    ? FormRead(before, bytes)
                    : FormConverted(before, bytes, read.format).value_or(SampleForm());
    form_ = way_.read;
    way_.link_bytes = LinkBytes(spec.transfer.dtype);
  }

  Way Walk(const plan::Graph& graph) {
    for (const plan::Node& node : graph.nodes) {
      for (const plan::MapPiece& piece : node.pieces) {
        auto& works = node.vectorized ? way_.whole : way_.maps;
        works[piece.name] = Pass(piece, node.vectorized);
      }
      const bool copies = plan::As<BatchSpec>(node) != nullptr ||
                          plan::As<CacheSpec>(node) != nullptr ||
                          plan::As<SnapshotSpec>(node) != nullptr;
      if (copies && form_.has_value()) way_.copied[node.stage.name] = form_->bytes();
    }
    way_.batch = form_;
    for (const plan::MapPiece& map : graph.device_maps) {
      for (const plan::OpInstance& op : map.ops) {
        way_.device.push_back(Pass({map.name, {op}, map.input}, true));
      }
    }
    return std::move(way_);
  }

 private:
  Work Pass(const plan::MapPiece& piece, bool whole) {
    Work work;
    work.gets = form_;
    std::vector<OpCall> calls;
    for (const plan::OpInstance& op : piece.ops) {
      if (StatesItsCost(op.call)) {
        const Cost stated = StatedBy(op.call);
        work.stated.cpu_ns += stated.cpu_ns;
        work.stated.blocked_ns += stated.blocked_ns;
      } else {
        calls.push_back(op.call);
        work.ops.push_back(op.call.Text());
      }
    }
    if (form_.has_value()) work.times = UsualTimesOf(calls, whole, *form_);
    if (!work.times.has_value() && !calls.empty()) form_.reset();
    work.gives = form_;
    return work;
  }

  std::optional<SampleForm> form_;
  Way way_;
};

// The error of a ratio of two sums in which some times are the same.
double ErrorOf(const std::vector<UsualTime>& above, const std::vector<UsualTime>& below) {
  struct Parts {
    double above = 0;
    double below = 0;
    double error = 0;
  };
  std::map<std::string, Parts> parts;
  double all_above = 0;
  double all_below = 0;
  for (const UsualTime& time : above) {
    Parts& part = parts[time.what];
    part.above += time.ns;
    part.error = time.error;
    all_above += time.ns;
  }
  for (const UsualTime& time : below) {
    Parts& part = parts[time.what];
    part.below += time.ns;
    part.error = time.error;
    all_below += time.ns;
  }
  double squares = kRatioError * kRatioError;
  for (const auto& [what, part] : parts) {
    const double weight =
        (all_above > 0 ? part.above / all_above : 0) - (all_below > 0 ? part.below / all_below : 0);
    squares += weight * weight * part.error * part.error;
  }
  return std::sqrt(squares);
}

class OpComparison {
 public:
  OpComparison(const Recorded& recorded, const Spec& to, double file_factor)
      : recorded_(recorded), to_(to) {
    const auto before = plan::Lower(recorded.spec);
    const auto now = plan::Lower(to);
    if (!before.ok() || !now.ok()) return;
    before_ = WayWalker(recorded, recorded.spec, file_factor).Walk(before.value());
    now_ = WayWalker(recorded, to, file_factor).Walk(now.value());
    TakeSpeed();
  }

  OpChange Compare() {
    for (const auto& [name, work] : now_.maps) CompareMap(name, work);
    for (const auto& [name, work] : now_.whole) CompareWhole(name, work);
    for (const auto& [name, work] : before_.whole) {
      if (now_.whole.count(name) == 0) {
        Cannot(name, "one run cannot tell what a map that works on whole batches costs otherwise");
      }
    }
    CompareRead();
    CompareCopied();
    CompareLink();
    CompareDevice();
    return std::move(change_);
  }

 private:
  // The first reason counts.
  void Cannot(const std::string& path, const std::string& why) {
    if (change_.unpriceable.empty()) change_.unpriceable = path + ": " + why;
  }
  void CannotTellOps(const std::string& map) {
    Cannot(map + ".ops", "one run cannot tell what other ops cost");
  }

  const StageCosts* CostsOf(const std::string& name) const {
    const auto found = recorded_.stages.find(name);
    return found == recorded_.stages.end() || found->second.items.empty() ? nullptr
                                                                          : &found->second;
  }

  // How long this machine takes for what usually takes a nanosecond.
  void TakeSpeed() {
    double took = 0;
    double usual = 0;
    for (const auto& [name, work] : before_.maps) {
      const StageCosts* const costs = CostsOf(name);
      if (costs == nullptr || work.UsualNs() <= 0) continue;
      took += std::max(0.0, costs->mean_cpu_ns - static_cast<double>(work.stated.cpu_ns));
      usual += work.UsualNs();
    }
    speed_error_ = took > 0 ? kSpeedError : kUnknownSpeedError;
    if (took > 0) speed_ = took / usual;
  }

  // Usual times at this machine's speed, with no recorded one to hold on to.
  ChangedCost AtThisSpeed(const std::vector<UsualTime>& times) {
    ChangedCost cost{.scale = 0};
    double squares = speed_error_ * speed_error_;
    for (const UsualTime& time : times) cost.more_cpu_ns += time.ns * speed_;
    for (const UsualTime& time : times) {
      const double weight = time.ns * speed_ / std::max(1.0, cost.more_cpu_ns);
      squares += weight * weight * time.error * time.error;
    }
    cost.error = times.empty() ? 0 : std::sqrt(squares);
    change_.assumed = change_.assumed || !times.empty();
    return cost;
  }

  // What becomes of a recorded cost of `before` if `now` is done instead.
  std::optional<ChangedCost> Instead(const std::string& name, const Work& before, const Work& now) {
    if (!before.times.has_value() && !before.ops.empty()) return std::nullopt;
    if (!now.times.has_value() && !now.ops.empty()) return std::nullopt;
    const std::vector<UsualTime> none;
    const auto& had = before.times.has_value() ? *before.times : none;
    const auto& has = now.times.has_value() ? *now.times : none;
    ChangedCost cost;
    if (before.UsualNs() <= 0 || CostsOf(name) == nullptr) {
      cost = AtThisSpeed(has);
      if (CostsOf(name) != nullptr) cost.scale = 1;
    } else {
      cost.scale = now.UsualNs() / before.UsualNs();
      cost.error = has.empty() ? 0 : ErrorOf(has, had);
      change_.assumed = true;
    }
    cost.more_cpu_ns += static_cast<double>(now.stated.cpu_ns) -
                        cost.scale * static_cast<double>(before.stated.cpu_ns);
    cost.more_blocked_ns += static_cast<double>(now.stated.blocked_ns) -
                            cost.scale * static_cast<double>(before.stated.blocked_ns);
    return cost;
  }

  static ChangedCost Stated(const Work& before, const Work& now) {
    ChangedCost cost;
    cost.more_cpu_ns = static_cast<double>(now.stated.cpu_ns - before.stated.cpu_ns);
    cost.more_blocked_ns = static_cast<double>(now.stated.blocked_ns - before.stated.blocked_ns);
    return cost;
  }

  void CompareMap(const std::string& name, const Work& now) {
    const auto found = before_.maps.find(name);
    const Work before = found == before_.maps.end() ? Work() : found->second;
    if (now.SameAs(before) || (found == before_.maps.end() && now.ops.empty())) {
      const ChangedCost stated = Stated(before, now);
      if (stated.more_cpu_ns != 0 || stated.more_blocked_ns != 0) change_.stages[name] = stated;
      return;
    }
    if (before_.whole.count(name) != 0) return CannotTellOps(name);
    const std::optional<ChangedCost> cost = Instead(name, before, now);
    if (!cost.has_value()) return CannotTellOps(name);
    change_.stages[name] = *cost;
  }

  // What a recorded map did for each sample is done for a batch of them.
  void CompareWhole(const std::string& name, const Work& now) {
    if (const auto whole = before_.whole.find(name); whole != before_.whole.end()) {
      if (!now.SameAs(whole->second)) CannotTellOps(name);
      return;
    }
    const auto found = before_.maps.find(name);
    if (found == before_.maps.end()) return CannotTellOps(name);
    std::optional<ChangedCost> cost = Instead(name, found->second, now);
    if (!cost.has_value()) return CannotTellOps(name);
    cost->error = std::hypot(cost->error, kSizeError);
    change_.whole[name] = *cost;
  }

  // The same data in other files.
  void CompareRead() {
    if (FormatOf(to_) == FormatOf(recorded_.spec)) return;
    change_.stages[to_.stages.front().name] = AtThisSpeed({UsualRead(now_.read.bytes())});
  }

  void CompareStores() {
    for (const StageSpec& stage : to_.stages) {
      const auto* const cache = std::get_if<CacheSpec>(&stage.kind);
      const bool on_disk = cache != nullptr ? cache->where == CacheWhere::kDisk
                                            : std::holds_alternative<SnapshotSpec>(stage.kind);
      if (!on_disk || recorded_.stages.count(stage.name) != 0) continue;
      const auto bytes = now_.copied.find(stage.name);
      if (bytes == now_.copied.end()) {
        Cannot(stage.name, "one run cannot tell how large what it stores is");
      } else {
        change_.stages[stage.name] = AtThisSpeed({UsualRead(bytes->second)});
      }
    }
  }

  void CompareCopied() {
    CompareStores();
    for (const auto& [name, bytes] : now_.copied) {
      const auto before = before_.copied.find(name);
      if (before == before_.copied.end() || before->second == bytes) continue;
      const UsualTime had = UsualCopy(before->second);
      const UsualTime has = UsualCopy(bytes);
      change_.stages[name] = {.scale = has.ns / had.ns, .error = kSizeError};
      change_.assumed = true;
    }
  }

  static std::vector<UsualTime> Conversion(const Way& way) {
    if (!way.batch.has_value() || way.batch->value_bytes == way.link_bytes) return {};
    return {UsualConversion(*way.batch, way.link_bytes)};
  }

  void CompareLink() {
    if (!now_.batch.has_value() || !before_.batch.has_value()) {
      if (now_.link_bytes != before_.link_bytes) {
        Cannot("transfer.dtype", "one run cannot tell what the conversion to another dtype costs");
      }
      return;
    }
    if (now_.link_bytes < now_.batch->value_bytes && now_.link_bytes == 1) {
      Cannot("transfer.dtype", "the batch is wider than uint8 and would lose precision");
    }
    const auto values = [](const SampleForm& form) { return form.bytes() / form.value_bytes; };
    const double before_values = values(*before_.batch);
    if (before_values > 0) {
      change_.batch_bytes = now_.batch->bytes() / before_.batch->bytes();
      change_.link_bytes =
          values(*now_.batch) * now_.link_bytes / (before_values * before_.link_bytes);
    }
    const std::vector<UsualTime> had = Conversion(before_);
    const std::vector<UsualTime> has = Conversion(now_);
    if (had.empty() && has.empty()) return;
    if (!had.empty() && !has.empty() && had[0].what == has[0].what) return;
    change_.assumed = true;
    if (has.empty()) {
      change_.convert.scale = 0;
    } else if (had.empty()) {
      change_.convert = AtThisSpeed(has);
    } else {
      change_.convert = {.scale = has[0].ns / had[0].ns, .error = ErrorOf(has, had)};
    }
  }

  // Whether the device gets another type than the link had, and changes it back before its maps.
  static bool Widens(const Way& way) {
    return !way.device.empty() && way.batch.has_value() && way.batch->value_bytes != way.link_bytes;
  }
  static double LaunchesOf(const Way& way) {
    return static_cast<double>(way.device.size()) + (Widens(way) ? 1 : 0);
  }
  bool SameOnDevice() const {
    return Widens(before_) == Widens(now_) &&
           std::equal(before_.device.begin(), before_.device.end(), now_.device.begin(),
                      now_.device.end(), [](const Work& a, const Work& b) { return a.SameAs(b); });
  }

  // Read and written by the maps on the device, of a sample; nothing if an op hides it.
  static std::optional<double> BytesOnDevice(const Way& way) {
    double bytes = 0;
    if (Widens(way)) {
      bytes += way.batch->bytes() * (1 + way.link_bytes / way.batch->value_bytes);
    }
    for (const Work& work : way.device) {
      if (!work.gets.has_value() || !work.gives.has_value()) return std::nullopt;
      bytes += work.gets->bytes() + work.gives->bytes();
    }
    return bytes;
  }

  std::string NameOfDeviceMap() const {
    for (const Spec* const spec : {&to_, &recorded_.spec}) {
      for (const StageSpec& stage : spec->stages) {
        const auto* const map = std::get_if<MapSpec>(&stage.kind);
        if (map != nullptr && map->on == MapOn::kDevice) return stage.name + ".on";
      }
    }
    return "map.on";
  }

  void CompareDevice() {
    if (SameOnDevice()) return;
    change_.device_launches = LaunchesOf(now_) - LaunchesOf(before_);
    const std::optional<double> bytes = BytesOnDevice(now_);
    const TrainerDevice device = to_.trainer.device;
    if (device == TrainerDevice::kHost || !bytes.has_value()) {
      return Cannot(NameOfDeviceMap(), "one run cannot tell what the ops cost on the other side");
    }
    if (device == TrainerDevice::kEmulated) {
      // The spec defines it.
      change_.device = {.scale = 0, .more_cpu_ns = *bytes / Resolved(to_.trainer.emulated).op_gbps};
      return;
    }
    std::vector<UsualTime> times;
    for (const Work& work : now_.device) {
      times.insert(times.end(), work.times->begin(), work.times->end());
    }
    change_.device = AtThisSpeed(times);
    change_.device.more_cpu_ns *= kDeviceOfCore;
    change_.device.error = times.empty() ? 0 : kDeviceError;
  }

  const Recorded& recorded_;
  const Spec& to_;
  Way before_;
  Way now_;
  double speed_ = 1;
  double speed_error_ = kUnknownSpeedError;
  OpChange change_;
};

// How many pixels a file of so many bytes has is an assumption of its own.
void AddPixelsError(const ChangedCost& more, ChangedCost& cost) {
  if (cost.scale <= 0 || more.scale <= 0) return;
  const double off = std::max(more.scale / cost.scale, cost.scale / more.scale) - 1;
  cost.error = std::sqrt(cost.error * cost.error + off * off);
}

}  // namespace

double At(Ends ends, double error) {
  if (ends == Ends::kMiddle) return 1;
  return ends == Ends::kMost ? 1 + error : 1 / (1 + error);
}

OpChange CompareOps(const Recorded& recorded, const Spec& to) {
  OpChange change = OpComparison(recorded, to, 1).Compare();
  if (!change.assumed || !change.unpriceable.empty()) return change;
  const OpChange more = OpComparison(recorded, to, 1 + kPixelsError).Compare();
  for (auto& [name, cost] : change.stages) AddPixelsError(more.stages.at(name), cost);
  for (auto& [name, cost] : change.whole) AddPixelsError(more.whole.at(name), cost);
  return change;
}

}  // namespace stallscope::replay
