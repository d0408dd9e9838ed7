#include "analyzer/spec/convert.h"

#include <array>
#include <cassert>
#include <type_traits>
#include <utility>

#include "analyzer/spec/schema.h"

namespace stallscope {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;
using google::protobuf::Reflection;

// One list of fields serves both directions: Io is Load or Store.
template <class Io>
void Exchange(Io& io, SourceSpec& s) {
  io("format", s.format);
  io("files", s.files);
  io("cycle_length", s.cycle_length);
  io("block_length", s.block_length);
  io("parallelism", s.parallelism);
  io("deterministic", s.deterministic);
  io("features", s.features);
  io("on_error", s.on_error);
  io("throttle_bytes_per_s", s.throttle_bytes_per_s);
  io("elements", s.elements);
  io("bytes", s.bytes);
  io("sleep_us", s.sleep_us);
  io("busy_us", s.busy_us);
  io("join", s.join);
}
template <class Io>
void Exchange(Io& io, ShardSpec& s) {
  io("count", s.count);
  io("index", s.index);
}
template <class Io>
void Exchange(Io& io, RepeatSpec& s) {
  io("count", s.count);
}
template <class Io>
void Exchange(Io& io, FilterSpec& s) {
  io("op", s.op);
}
template <class Io>
void Exchange(Io& io, ShuffleSpec& s) {
  io("buffer_size", s.buffer_size);
}
template <class Io>
void Exchange(Io& io, PrefetchSpec& s) {
  io("buffer_size", s.buffer_size);
}
template <class Io>
void Exchange(Io& io, MapSpec& s) {
  io("ops", s.ops);
  io("parallelism", s.parallelism);
  io("deterministic", s.deterministic);
  io("on", s.on);
  io("input", s.input);
}
template <class Io>
void Exchange(Io& io, CacheSpec& s) {
  io("where", s.where);
  io("path", s.path);
  io("max_bytes", s.max_bytes);
}
template <class Io>
void Exchange(Io& io, SnapshotSpec& s) {
  io("path", s.path);
}
template <class Io>
void Exchange(Io& io, BucketByLengthSpec& s) {
  io("width", s.width);
}
template <class Io>
void Exchange(Io& io, BatchSpec& s) {
  io("size", s.size);
  io("drop_remainder", s.drop_remainder);
  io("parallelism", s.parallelism);
  io("pad", s.pad);
}
template <class Io>
void Exchange(Io& io, LoaderSpec& s) {
  io("num_workers", s.num_workers);
  io("prefetch_factor", s.prefetch_factor);
  io("persistent_workers", s.persistent_workers);
  io("pin_memory", s.pin_memory);
  io("batch_size", s.batch_size);
  io("multiprocessing_context", s.multiprocessing_context);
  io("in_order", s.in_order);
  io("iterable", s.iterable);
  io("num_parallel_calls", s.num_parallel_calls);
  io("prefetch", s.prefetch);
  io("threads", s.threads);
  io("num_shards", s.num_shards);
  io("knobs", s.knobs);
}
template <class Io>
void Exchange(Io& io, JobSpec& s) {
  io("steps", s.steps);
  io("threads", s.threads);
}
template <class Io>
void Exchange(Io& io, TransferSpec& s) {
  io("pinned", s.pinned);
  io("overlap", s.overlap);
  io("dtype", s.dtype);
  io("streams", s.streams);
  io("prefetch_to_device", s.prefetch_to_device);
}
template <class Io>
void Exchange(Io& io, ModelSpec& s) {
  io("kind", s.kind);
  io("width", s.width);
  io("depth", s.depth);
  io("patch", s.patch);
  io("classes", s.classes);
}
template <class Io>
void Exchange(Io& io, OptimizerSpec& s) {
  io("kind", s.kind);
  io("learning_rate", s.learning_rate);
  io("momentum", s.momentum);
}
template <class Io>
void Exchange(Io& io, LossScaleSpec& s) {
  io("initial", s.initial);
  io("growth_interval", s.growth_interval);
}
template <class Io>
void Exchange(Io& io, StrategySpec& s) {
  io("kind", s.kind);
  io("replicas", s.replicas);
}
template <class Io>
void Exchange(Io& io, EmulatedSpec& s) {
  io("preset", s.preset);
  io("compute_us_per_batch", s.compute_us_per_batch);
  io("compute_us_per_sample", s.compute_us_per_sample);
  io("h2d_gbps_pinned", s.h2d_gbps_pinned);
  io("h2d_gbps_pageable", s.h2d_gbps_pageable);
  io("h2d_latency_us", s.h2d_latency_us);
  io("launch_us", s.launch_us);
  io("tf32_speed", s.tf32_speed);
  io("fp16_speed", s.fp16_speed);
  io("bf16_speed", s.bf16_speed);
  io("op_gbps", s.op_gbps);
  io("memory_bytes", s.memory_bytes);
  io("activation_bytes", s.activation_bytes);
}
template <class Io>
void Exchange(Io& io, TrainerSpec& s) {
  io("device", s.device);
  io("steps", s.steps);
  io("model", s.model);
  io("optimizer", s.optimizer);
  io("accumulate", s.accumulate);
  io("precision", s.precision);
  io("loss_scale", s.loss_scale);
  io("graph", s.graph);
  io("fuse", s.fuse);
  io("strategy", s.strategy);
  io("emulated", s.emulated);
}
template <class Io>
void Exchange(Io& io, RewritesSpec& s) {
  io("map_fusion", s.map_fusion);
  io("map_and_batch", s.map_and_batch);
  io("constant_folding", s.constant_folding);
  io("narrow_dtype_late_cast", s.narrow_dtype_late_cast);
  io("vectorise", s.vectorise);
  io("crop_aware_decode", s.crop_aware_decode);
  io("shuffle_before_decode", s.shuffle_before_decode);
}
template <class Io>
void Exchange(Io& io, BudgetSpec& s) {
  io("memory_bytes", s.memory_bytes);
  io("cores", s.cores);
}
template <class Io>
void Exchange(Io& io, StageSpec& s) {
  io("name", s.name);
  io.Kind(s.kind);
}
template <class Io>
void Exchange(Io& io, Spec& s) {
  io("name", s.name);
  io("seed", s.seed);
  io("stages", s.stages);
  io("transfer", s.transfer);
  io("trainer", s.trainer);
  io("rewrites", s.rewrites);
  io("budget", s.budget);
  io("job", s.job);
  io("env", s.env);
}

const FieldDescriptor* FieldOf(const Message& message, const char* name) {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  assert(field != nullptr && "spec.proto has no such field");
  return field;
}

const OneofDescriptor* KindOf(const Message& message) {
  return message.GetDescriptor()->FindOneofByName("kind");
}

class Load {
 public:
  explicit Load(const Message& from) : from_(from), reflection_(*from.GetReflection()) {}

  void operator()(const char* name, int64_t& v) { v = reflection_.GetInt64(from_, Field(name)); }
  void operator()(const char* name, double& v) { v = reflection_.GetDouble(from_, Field(name)); }
  void operator()(const char* name, bool& v) { v = reflection_.GetBool(from_, Field(name)); }
  void operator()(const char* name, std::string& v) {
    v = reflection_.GetString(from_, Field(name));
  }
  void operator()(const char* name, Knob& v) {
    const int64_t stored = reflection_.GetInt64(from_, Field(name));
    v = stored == kAutomatic ? Knob::Auto() : Knob{stored, false};
  }
  void operator()(const char* name, std::vector<std::string>& v) {
    v.clear();
    for (int i = 0; i < reflection_.FieldSize(from_, Field(name)); ++i) {
      v.push_back(reflection_.GetRepeatedString(from_, Field(name), i));
    }
  }
  void operator()(const char* name, std::map<std::string, std::string>& v) {
    v.clear();
    for (int i = 0; i < reflection_.FieldSize(from_, Field(name)); ++i) {
      const Message& entry = reflection_.GetRepeatedMessage(from_, Field(name), i);
      const Reflection& inner = *entry.GetReflection();
      v[inner.GetString(entry, FieldOf(entry, "key"))] =
          inner.GetString(entry, FieldOf(entry, "value"));
    }
  }
  void operator()(const char* name, std::vector<StageSpec>& v) {
    v.clear();
    for (int i = 0; i < reflection_.FieldSize(from_, Field(name)); ++i) {
      Load stage(reflection_.GetRepeatedMessage(from_, Field(name), i));
      Exchange(stage, v.emplace_back());
    }
  }
  template <class T>
  void operator()(const char* name, T& v) {
    if constexpr (std::is_enum_v<T>) {
      v = static_cast<T>(reflection_.GetEnumValue(from_, Field(name)));
    } else {
      Load group(reflection_.GetMessage(from_, Field(name)));
      Exchange(group, v);
    }
  }

  template <class... Kinds>
  void Kind(std::variant<Kinds...>& v) {
    const FieldDescriptor* field = reflection_.GetOneofFieldDescriptor(from_, KindOf(from_));
    assert(field != nullptr);
    Load group(reflection_.GetMessage(from_, field));
    LoadKind(group, v, field->index_in_oneof(), std::index_sequence_for<Kinds...>());
  }

 private:
  const FieldDescriptor* Field(const char* name) const { return FieldOf(from_, name); }

  template <class Variant, size_t... kIndex>
  static void LoadKind(Load& group, Variant& v, int wanted, std::index_sequence<kIndex...>) {
    ((wanted == static_cast<int>(kIndex) ? Exchange(group, v.template emplace<kIndex>()) : void()),
     ...);
  }

  const Message& from_;
  const Reflection& reflection_;
};

class Store {
 public:
  explicit Store(Message& to) : to_(to), reflection_(*to.GetReflection()) {}

  void operator()(const char* name, int64_t& v) { reflection_.SetInt64(&to_, Field(name), v); }
  void operator()(const char* name, double& v) { reflection_.SetDouble(&to_, Field(name), v); }
  void operator()(const char* name, bool& v) { reflection_.SetBool(&to_, Field(name), v); }
  void operator()(const char* name, std::string& v) { reflection_.SetString(&to_, Field(name), v); }
  void operator()(const char* name, Knob& v) {
    reflection_.SetInt64(&to_, Field(name), v.automatic ? kAutomatic : v.value);
  }
  void operator()(const char* name, std::vector<std::string>& v) {
    for (const std::string& text : v) reflection_.AddString(&to_, Field(name), text);
  }
  void operator()(const char* name, std::map<std::string, std::string>& v) {
    for (const auto& [key, value] : v) {
      Message& entry = *reflection_.AddMessage(&to_, Field(name));
      entry.GetReflection()->SetString(&entry, FieldOf(entry, "key"), key);
      entry.GetReflection()->SetString(&entry, FieldOf(entry, "value"), value);
    }
  }
  void operator()(const char* name, std::vector<StageSpec>& v) {
    for (StageSpec& stage : v) {
      Store into(*reflection_.AddMessage(&to_, Field(name)));
      Exchange(into, stage);
    }
  }
  template <class T>
  void operator()(const char* name, T& v) {
    if constexpr (std::is_enum_v<T>) {
      reflection_.SetEnumValue(&to_, Field(name), static_cast<int>(v));
    } else {
      Store group(*reflection_.MutableMessage(&to_, Field(name)));
      Exchange(group, v);
    }
  }

  template <class... Kinds>
  void Kind(std::variant<Kinds...>& v) {
    const OneofDescriptor* kind = KindOf(to_);
    assert(kind->field_count() == static_cast<int>(sizeof...(Kinds)));
    Store group(*reflection_.MutableMessage(&to_, kind->field(static_cast<int>(v.index()))));
    std::visit([&](auto& fields) { Exchange(group, fields); }, v);
  }

 private:
  const FieldDescriptor* Field(const char* name) const { return FieldOf(to_, name); }

  Message& to_;
  const Reflection& reflection_;
};

// Exchange takes what it may change, so a spec that is only read is copied for it.
template <class M, class S>
M StoreInMessage(S copy) {
  M message;
  Store store(message);
  Exchange(store, copy);
  return message;
}

template <class S>
S LoadFromMessage(const Message& message) {
  S plain;
  Load load(message);
  Exchange(load, plain);
  return plain;
}

}  // namespace

spec_pb::Spec ToMessage(const Spec& spec) { return StoreInMessage<spec_pb::Spec>(spec); }
spec_pb::Stage ToMessage(const StageSpec& stage) { return StoreInMessage<spec_pb::Stage>(stage); }
Spec FromMessage(const spec_pb::Spec& message) { return LoadFromMessage<Spec>(message); }
StageSpec FromMessage(const spec_pb::Stage& message) { return LoadFromMessage<StageSpec>(message); }

}  // namespace stallscope
