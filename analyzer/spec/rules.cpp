#include "analyzer/spec/rules.h"

#include <algorithm>
#include <set>
#include <vector>

#include "analyzer/spec/nearest.h"
#include "analyzer/spec/ops.h"
#include "analyzer/spec/schema.h"

namespace stallscope {
namespace {

using google::protobuf::Descriptor;

constexpr size_t kLongestName = 64;

MaybeFault CheckName(const std::string& name, const JsonPath& at) {
  constexpr const char* kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  const char* hint = "use 1 to 64 letters, digits, _ and -";
  if (name.empty()) return Fault{at, "the stage's name is empty", hint};
  if (name.size() > kLongestName || name.find_first_not_of(kAllowed) != std::string::npos) {
    return Fault{at, Quoted(name) + " cannot name a stage", hint};
  }
  // `transfer.pinned` must not be a field of a stage.
  const Descriptor& spec = *spec_pb::Spec::descriptor();
  const auto* field = spec.FindFieldByName(name);
  if (field != nullptr && IsGroup(*field) && name != "job") {
    return Fault{at, Quoted(name) + " cannot name a stage: it is a field of the spec",
                 "choose another name"};
  }
  return std::nullopt;
}

MaybeFault CheckOp(const std::string& text, OpRole role, bool on_device, const JsonPath& at) {
  Result<OpCall> call = ParseOp(text);
  if (!call.ok()) return Fault{at, call.error().what, call.error().hint};
  const OpInfo& op = *call.value().op;
  const std::string name(op.name);
  if (op.role != role && op.role != OpRole::kEither) {
    if (role == OpRole::kFilter) {
      return Fault{at, name + " transforms elements; it does not select them", "put it into a map"};
    }
    return Fault{at, name + " selects elements", "use it in a filter"};
  }
  if (on_device && !op.on_device) {
    return Fault{at, name + " runs on the host only",
                 "put it into a separate map with \"on\": \"host\""};
  }
  return std::nullopt;
}

MaybeFault CheckKind(const SourceSpec& source, const JsonPath& at) {
  const bool made_up = source.format == SourceFormat::kSynthetic;
  const bool may_be_made_up = made_up || source.format == SourceFormat::kSerial;
  if (made_up && !source.files.empty()) {
    return Fault{at / "files", "a synthetic source reads no files",
                 "leave files out, or name the files' format"};
  }
  if (!may_be_made_up && source.files.empty()) {
    return Fault{at, "the source has no files", "give files, or the format synthetic"};
  }
  for (size_t i = 0; i < source.files.size(); ++i) {
    if (source.files[i].empty()) {
      return Fault{at / "files" / i, "the file's name is empty", "give a path or a glob"};
    }
  }
  if (may_be_made_up) return std::nullopt;
  const SourceSpec fresh;
  const char* stray = source.elements != fresh.elements   ? "elements"
                      : source.bytes != fresh.bytes       ? "bytes"
                      : source.sleep_us != fresh.sleep_us ? "sleep_us"
                      : source.busy_us != fresh.busy_us   ? "busy_us"
                                                          : nullptr;
  if (stray == nullptr) return std::nullopt;
  return Fault{at / stray, std::string(stray) + " is for a synthetic or serial source",
               "leave it out"};
}

MaybeFault CheckKind(const ShardSpec& shard, const JsonPath& at) {
  if (shard.index < shard.count) return std::nullopt;
  return Fault{
      at / "index",
      "index is " + std::to_string(shard.index) + " of " + std::to_string(shard.count) + " shards",
      "count from 0 to " + std::to_string(shard.count - 1)};
}

MaybeFault CheckKind(const FilterSpec& filter, const JsonPath& at) {
  return CheckOp(filter.op, OpRole::kFilter, false, at / "op");
}

MaybeFault CheckKind(const MapSpec& map, const JsonPath& at) {
  for (size_t i = 0; i < map.ops.size(); ++i) {
    MaybeFault fault = CheckOp(map.ops[i], OpRole::kMap, map.on == MapOn::kDevice, at / "ops" / i);
    if (fault.has_value()) return fault;
  }
  return std::nullopt;
}

// The other kinds have nothing to check beyond their ranges.
template <class Kind>
MaybeFault CheckKind(const Kind&, const JsonPath&) {
  return std::nullopt;
}

// Sources first and nowhere else, which agree on what the stages behind them all read; one batch at
// most, and in front of it the stage that prepares it. Or loaders alone.
class OrderRule {
 public:
  explicit OrderRule(const Spec& spec) : job_(IsJob(spec)), zipped_(ZippedInputs(spec)) {}

  MaybeFault Check(const StageSpec& stage, size_t index, const JsonPath& at) {
    if (job_) {
      if (std::holds_alternative<LoaderSpec>(stage.kind)) return std::nullopt;
      return Fault{at, "a job's loaders and a pipeline's stages do not mix",
                   "leave out " + Quoted(stage.name)};
    }
    const auto* const source = std::get_if<SourceSpec>(&stage.kind);
    if (index == 0 && source == nullptr) {
      return Fault{at, "the first stage is a " + std::string(KindWord(stage)),
                   "begin with a source"};
    }
    if (source != nullptr) return CheckSource(stage, *source, at);
    if (behind_sources_.empty()) behind_sources_ = stage.name;
    if (const auto* map = std::get_if<MapSpec>(&stage.kind)) return CheckInput(*map, at / "map");
    if (std::holds_alternative<BucketByLengthSpec>(stage.kind)) return CheckBucket(stage, at);
    if (std::holds_alternative<RepeatSpec>(stage.kind) && !bucket_.empty() && batch_.empty()) {
      return Fault{at, Quoted(stage.name) + " would mix the rests of a pass into batches",
                   "put it before " + Quoted(bucket_) + " or behind the batch"};
    }
    if (!std::holds_alternative<BatchSpec>(stage.kind)) return std::nullopt;
    if (!batch_.empty()) {
      return Fault{at, Quoted(stage.name) + " would make batches of batches",
                   "keep it or " + Quoted(batch_)};
    }
    batch_ = stage.name;
    return std::nullopt;
  }

 private:
  MaybeFault CheckSource(const StageSpec& stage, const SourceSpec& source, const JsonPath& at) {
    if (!behind_sources_.empty()) {
      return Fault{at, Quoted(stage.name) + " is a source behind " + Quoted(behind_sources_),
                   "sources come first; the elements of each follow those of the one before"};
    }
    const JsonPath fields = at / "source";
    const bool zips = source.join == SourceJoin::kZip;
    if (zips && input_ == nullptr) {
      return Fault{fields / "join", Quoted(stage.name) + " has no source before it to zip with",
                   "leave join out"};
    }
    if (zips || input_ == nullptr) {
      input_ = &source;
      input_name_ = stage.name;
    }
    const char* const differs = source.features != input_->features   ? "features"
                                : source.on_error != input_->on_error ? "on_error"
                                                                      : nullptr;
    if (differs == nullptr) return CheckPairs(stage.name, source, fields);
    return Fault{fields / differs,
                 std::string(differs) + " of " + Quoted(stage.name) + " is not that of " +
                     Quoted(input_name_) + ", whose elements it continues",
                 "give both the same"};
  }

  // Which elements are paired may depend on nothing but the spec and the data: not on timing, on
  // the machine, on a bad record, or on a knob of speed of one of the sources.
  MaybeFault CheckPairs(const std::string& name, const SourceSpec& source, const JsonPath& fields) {
    if (zipped_.empty()) return std::nullopt;
    if (source.on_error == OnError::kSkip) {
      return Fault{fields / "on_error",
                   Quoted(name) + " is zipped, and a skipped record would shift all later pairs",
                   "leave on_error out"};
    }
    if (!source.deterministic) {
      return Fault{fields / "deterministic",
                   Quoted(name) + " is zipped, and timing would decide the pairs",
                   "leave deterministic out"};
    }
    if (source.files.empty()) return std::nullopt;
    if (source.cycle_length.automatic) {
      return Fault{fields / "cycle_length",
                   Quoted(name) + " is zipped, and the number of cores would decide the pairs",
                   "give a number"};
    }
    if (paired_ == nullptr) {
      paired_ = &source;
      paired_name_ = name;
    }
    const char* const differs = source.cycle_length != paired_->cycle_length   ? "cycle_length"
                                : source.block_length != paired_->block_length ? "block_length"
                                                                               : nullptr;
    if (differs == nullptr) return std::nullopt;
    return Fault{fields / differs,
                 std::string(differs) + " of " + Quoted(name) + " is not that of " +
                     Quoted(paired_name_) + ": zipped sources must read their files in one order",
                 "give both the same"};
  }

  MaybeFault CheckInput(const MapSpec& map, const JsonPath& at) const {
    if (map.input.empty()) return std::nullopt;
    if (std::find(zipped_.begin(), zipped_.end(), map.input) == zipped_.end()) {
      const char* const what = "no zipped source is called ";
      return Fault{at / "input", what + Quoted(map.input),
                   zipped_.empty() ? "leave input out, or give a source \"join\": \"zip\""
                                   : NearestHint(map.input, zipped_, "the nearest zipped source")};
    }
    if (map.on == MapOn::kHost) return std::nullopt;
    return Fault{at / "input", "maps on the device change the first input only",
                 "set on to 'host', or make " + Quoted(map.input) + " the first input"};
  }

  MaybeFault CheckBucket(const StageSpec& stage, const JsonPath& at) {
    if (batch_.empty()) {
      bucket_ = stage.name;
      return std::nullopt;
    }
    return Fault{
        at, Quoted(stage.name) + " orders samples, and " + Quoted(batch_) + " has batched them",
        "put it before " + Quoted(batch_)};
  }

  const bool job_;
  const std::vector<std::string> zipped_;
  const SourceSpec* input_ = nullptr;  // the source that begins the input
  std::string input_name_;
  const SourceSpec* paired_ = nullptr;  // with zip: the first source of files
  std::string paired_name_;
  std::string behind_sources_;  // the first stage that is none
  std::string bucket_;
  std::string batch_;
};

// What a shell takes, and not what stallscope itself puts there.
MaybeFault CheckEnv(const std::map<std::string, std::string>& env, const JsonPath& at) {
  constexpr const char* kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  for (const auto& [name, value] : env) {
    if (name.empty() || name.find_first_not_of(kAllowed) != std::string::npos ||
        (name[0] >= '0' && name[0] <= '9')) {
      return Fault{at / name, Quoted(name) + " cannot name a variable",
                   "use letters, digits and _, and begin with a letter"};
    }
    if (name == "PYTHONPATH" || name.starts_with("STALLSCOPE_")) {
      return Fault{at / name, Quoted(name) + " is stallscope's own", "set it outside"};
    }
  }
  return std::nullopt;
}

MaybeFault CheckTrainer(const TrainerSpec& trainer, const JsonPath& at) {
  if (trainer.strategy.kind == StrategyKind::kSingle && trainer.strategy.replicas != 1) {
    return Fault{at / "strategy" / "replicas",
                 std::to_string(trainer.strategy.replicas) + " replicas need a strategy",
                 "set strategy.kind to something other than 'single'"};
  }
  EmulatedSpec untouched;
  untouched.preset = trainer.emulated.preset;
  if (untouched.preset != EmulatedPreset::kNone && trainer.emulated != untouched) {
    return Fault{at / "emulated", "a preset and figures are both given", "leave one of them out"};
  }
  return std::nullopt;
}

}  // namespace

MaybeFault CheckRules(const Spec& spec) {
  const JsonPath at = JsonPath() / "stages";
  if (spec.stages.empty()) return Fault{at, "there are no stages", "begin with a source"};
  if (spec.stages.size() > kMaxStages) {
    return Fault{at, "more than " + std::to_string(kMaxStages) + " stages",
                 "put several ops into one map"};
  }
  std::set<std::string> names;
  OrderRule order(spec);
  for (size_t i = 0; i < spec.stages.size(); ++i) {
    const StageSpec& stage = spec.stages[i];
    MaybeFault fault = CheckName(stage.name, at / i / "name");
    if (!fault.has_value() && !names.insert(stage.name).second) {
      fault = Fault{at / i / "name", "a second stage is called " + Quoted(stage.name),
                    "give each stage a unique name"};
    }
    if (!fault.has_value()) fault = order.Check(stage, i, at / i);
    if (!fault.has_value()) {
      const JsonPath inside = at / i / KindWord(stage);
      fault = std::visit([&](const auto& kind) { return CheckKind(kind, inside); }, stage.kind);
    }
    if (fault.has_value()) return fault;
  }
  MaybeFault fault = CheckTrainer(spec.trainer, JsonPath() / "trainer");
  return fault.has_value() ? fault : CheckEnv(spec.env, JsonPath() / "env");
}

}  // namespace stallscope
