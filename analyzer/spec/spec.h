// What a run is asked to do: pipeline, transfer, trainer. Plain data with the defaults of
// spec.proto, so that code which runs a spec reads typed fields and never JSON.
//
// A spec is of our own pipeline, or of a user's own job: then its stages are the job's loaders, and
// of the rest it has `job` and `env` only. What program the job is, no spec says.
//
// A Spec from ReadSpec, Apply or ApplySettings is valid. One that code puts together is whatever
// the code made it: call Validate (validate.h). Values; any thread may read one that nobody
// changes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stallscope {

// A number, or "auto": the online tuner's to choose, starting at 1.
struct Knob {
  int64_t value = 1;
  bool automatic = false;

  static constexpr Knob Auto() { return {1, true}; }
  friend constexpr bool operator==(const Knob& a, const Knob& b) {
    return a.automatic == b.automatic && (a.automatic || a.value == b.value);
  }
};

// The words of the JSON text in the order of spec.proto; ToWord gives the word.
enum class SourceFormat { kTfrecord, kImages, kCsv, kHdf5, kRaw, kSerial, kSynthetic };
enum class OnError { kFail, kSkip };
enum class SourceJoin { kConcatenate, kZip };
enum class MapOn { kHost, kDevice };
enum class CacheWhere { kMemory, kDisk };
enum class TransferDtype { kUint8, kFloat16, kFloat32 };
enum class ModelKind { kMixer, kMlp };
enum class OptimizerKind { kSgd, kAdam };
enum class StrategyKind { kSingle, kMirrored, kMultiWorker, kParameterServer };
// A model's training step on an accelerator, by published figures; see Resolved.
enum class EmulatedPreset {
  kNone,
  kResnet50A100,
  kResnet50H100,
  kUnet3dA100,
  kUnet3dH100,
  kCosmoflowA100,
  kCosmoflowH100
};
enum class StartMethod { kInherited, kFork, kSpawn, kForkserver };
enum class TrainerDevice { kHost, kEmulated, kCuda };
enum class Precision { kFp32, kTf32, kFp16, kBf16 };
enum class GraphMode { kEager, kCaptured };

std::string_view ToWord(SourceFormat value);
std::string_view ToWord(OnError value);
std::string_view ToWord(SourceJoin value);
std::string_view ToWord(MapOn value);
std::string_view ToWord(CacheWhere value);
std::string_view ToWord(TransferDtype value);
std::string_view ToWord(ModelKind value);
std::string_view ToWord(OptimizerKind value);
std::string_view ToWord(StrategyKind value);
std::string_view ToWord(EmulatedPreset value);
std::string_view ToWord(StartMethod value);
std::string_view ToWord(TrainerDevice value);
std::string_view ToWord(Precision value);
std::string_view ToWord(GraphMode value);

// Every member has an initializer, so MapSpec{.ops = {"flip"}} warns of no missing one.
struct SourceSpec {
  SourceFormat format = SourceFormat::kTfrecord;
  std::vector<std::string> files = {};
  Knob cycle_length = {};
  int64_t block_length = 1;
  Knob parallelism = {};
  bool deterministic = true;
  std::map<std::string, std::string> features = {};
  OnError on_error = OnError::kFail;
  int64_t throttle_bytes_per_s = 0;  // 0: not throttled
  int64_t elements = 1000;
  int64_t bytes = 1024;
  double sleep_us = 0;
  double busy_us = 0;
  // kZip: it begins another input, whose elements stand beside those of the input before it.
  SourceJoin join = SourceJoin::kConcatenate;
  bool operator==(const SourceSpec&) const = default;
};

struct ShardSpec {
  int64_t count = 1;
  int64_t index = 0;
  bool operator==(const ShardSpec&) const = default;
};

struct RepeatSpec {
  int64_t count = 0;  // 0: forever
  bool operator==(const RepeatSpec&) const = default;
};

struct FilterSpec {
  std::string op = {};  // ParseOp reads it
  bool operator==(const FilterSpec&) const = default;
};

struct ShuffleSpec {
  int64_t buffer_size = 1;
  bool operator==(const ShuffleSpec&) const = default;
};

struct PrefetchSpec {
  Knob buffer_size = {};  // 0: none
  bool operator==(const PrefetchSpec&) const = default;
};

struct MapSpec {
  std::vector<std::string> ops = {};  // ParseOp reads each
  Knob parallelism = {};
  bool deterministic = true;
  MapOn on = MapOn::kHost;
  std::string input = {};  // of ZippedInputs; empty: the first input
  bool operator==(const MapSpec&) const = default;
};

struct CacheSpec {
  CacheWhere where = CacheWhere::kMemory;
  std::string path = {};  // disk; empty: a scratch file that goes with the run
  int64_t max_bytes = 0;  // 0: no limit
  bool operator==(const CacheSpec&) const = default;
};

struct SnapshotSpec {
  std::string path = {};
  bool operator==(const SnapshotSpec&) const = default;
};

struct BucketByLengthSpec {
  int64_t width = 16;
  bool operator==(const BucketByLengthSpec&) const = default;
};

struct BatchSpec {
  int64_t size = 1;
  bool drop_remainder = false;
  Knob parallelism = {};
  bool pad = false;
  bool operator==(const BatchSpec&) const = default;
};

// Of a job.
struct LoaderSpec {
  int64_t num_workers = 0;
  int64_t prefetch_factor = 2;
  bool persistent_workers = false;
  bool pin_memory = false;
  int64_t batch_size = 0;  // 0: the job's own sampler decides
  StartMethod multiprocessing_context = StartMethod::kInherited;
  bool in_order = true;
  bool iterable = false;  // a fact: each worker iterates over the data set on its own
  // Of other libraries' loaders; 0: what the job's own code says.
  int64_t num_parallel_calls = 0;
  int64_t prefetch = 0;
  int64_t threads = 0;
  int64_t num_shards = 0;
  std::vector<std::string> knobs = {};  // a fact: its settings; empty: those of a DataLoader
  bool operator==(const LoaderSpec&) const = default;
};

struct StageSpec {
  std::string name = {};
  // The order is that of spec.proto's oneof.
  std::variant<SourceSpec, ShardSpec, RepeatSpec, FilterSpec, ShuffleSpec, PrefetchSpec, MapSpec,
               CacheSpec, SnapshotSpec, BucketByLengthSpec, BatchSpec, LoaderSpec>
      kind;
  bool operator==(const StageSpec&) const = default;
};

// "source", "map", ...: the key that the kind has in JSON.
std::string_view KindWord(const StageSpec& stage);

struct TransferSpec {
  bool pinned = false;
  bool overlap = false;
  TransferDtype dtype = TransferDtype::kFloat32;
  int64_t streams = 1;
  int64_t prefetch_to_device = 0;
  bool operator==(const TransferSpec&) const = default;
};

struct ModelSpec {
  ModelKind kind = ModelKind::kMixer;
  int64_t width = 128;
  int64_t depth = 2;
  int64_t patch = 16;
  int64_t classes = 1000;
  bool operator==(const ModelSpec&) const = default;
};

struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::kSgd;
  double learning_rate = 0.01;
  double momentum = 0;
  bool operator==(const OptimizerSpec&) const = default;
};

struct LossScaleSpec {
  double initial = 32768;
  int64_t growth_interval = 2000;
  bool operator==(const LossScaleSpec&) const = default;
};

struct StrategySpec {
  StrategyKind kind = StrategyKind::kSingle;
  int64_t replicas = 1;
  bool operator==(const StrategySpec&) const = default;
};

struct EmulatedSpec {
  EmulatedPreset preset = EmulatedPreset::kNone;
  double compute_us_per_batch = 0;
  double compute_us_per_sample = 0;
  double h2d_gbps_pinned = 12;  // 10^9 bytes a second
  double h2d_gbps_pageable = 4;
  double h2d_latency_us = 10;
  double launch_us = 0;
  double tf32_speed = 1;  // of a step, relative to fp32
  double fp16_speed = 1;
  double bf16_speed = 1;
  double op_gbps = 100;          // 10^9 bytes per second that an op of a map reads and writes
  int64_t memory_bytes = 0;      // 0: no limit
  int64_t activation_bytes = 0;  // held by a step per sample, in fp32
  bool operator==(const EmulatedSpec&) const = default;
};

// The figures that a preset stands for, with preset none; a spec without a preset as it is.
EmulatedSpec Resolved(const EmulatedSpec& emulated);

struct TrainerSpec {
  TrainerDevice device = TrainerDevice::kHost;
  int64_t steps = 100;  // at most; 0: until the data ends
  ModelSpec model = {};
  OptimizerSpec optimizer = {};
  int64_t accumulate = 1;  // batches whose gradients make one update
  Precision precision = Precision::kFp32;
  LossScaleSpec loss_scale = {};
  GraphMode graph = GraphMode::kEager;
  bool fuse = false;
  StrategySpec strategy = {};
  EmulatedSpec emulated = {};
  bool operator==(const TrainerSpec&) const = default;
};

struct RewritesSpec {
  bool map_fusion = false;
  bool map_and_batch = false;
  bool constant_folding = false;
  bool narrow_dtype_late_cast = false;
  bool vectorise = false;
  bool crop_aware_decode = false;
  bool shuffle_before_decode = false;
  bool operator==(const RewritesSpec&) const = default;
};

// What "auto" may use; 0: what the machine allows.
struct BudgetSpec {
  int64_t memory_bytes = 0;
  int64_t cores = 0;
  bool operator==(const BudgetSpec&) const = default;
};

struct JobSpec {
  int64_t steps = 0;    // at most; 0: to the job's end
  int64_t threads = 0;  // of each process's math library; 0: its own choice
  bool operator==(const JobSpec&) const = default;
};

struct Spec {
  std::string name = {};
  int64_t seed = 0;
  std::vector<StageSpec> stages = {};
  TransferSpec transfer = {};
  TrainerSpec trainer = {};
  RewritesSpec rewrites = {};
  BudgetSpec budget = {};
  JobSpec job = {};
  std::map<std::string, std::string> env = {};  // of a job: variables to set
  bool operator==(const Spec&) const = default;
};

// For the trainer's emulated device, in its precision: a step's speed relative to fp32, and the
// device memory that it holds per sample.
double EmulatedSpeed(const TrainerSpec& trainer);
double EmulatedActivationBytes(const TrainerSpec& trainer);

bool IsJob(const Spec& spec);

// The inputs besides the first, by the sources that begin them: those with join zip.
std::vector<std::string> ZippedInputs(const Spec& spec);

// `base`, with a number if a stage has that name already.
std::string FreshName(const Spec& spec, const std::string& base);

}  // namespace stallscope
