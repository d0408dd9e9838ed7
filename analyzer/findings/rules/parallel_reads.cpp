// Row 2: one reader waits for one file at a time.
#include <algorithm>

#include "analyzer/findings/named_ops.h"
#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::parallel_reads {
namespace {

// A trace of another profiler does not say what its threads waited for.
constexpr std::initializer_list<Cause> kCauses = {Cause::kIo, Cause::kBlocked, Cause::kCpu,
                                                  Cause::kUnknown};

// More readers share what the throttle lets through.
bool Throttled(const Case& c, const SourceSpec& source) {
  if (source.throttle_bytes_per_s <= 0) return false;
  const auto limit = static_cast<double>(source.throttle_bytes_per_s);
  return c.attribution.cpu.read_bytes_per_s.value_or(limit) >= kFullDeviceUse * limit;
}

Patch Readers(const Case& c, StageId stage, int64_t readers) {
  const auto* source = As<SourceSpec>(c, stage);
  if (source == nullptr) return StageSetting(c, stage, "parallelism", readers);
  Patch patch = Setting(NameOf(c, stage) + ".parallelism", readers);
  if (!source->cycle_length.automatic && source->cycle_length.value < readers) {
    patch.changes.emplace_back(SetTo(NameOf(c, stage) + ".cycle_length", readers));
  }
  return patch;
}

void Check(const Case& c, const Load* load, std::vector<Draft>& drafts) {
  for (const auto& stage : c.run.stages) {
    const attribution::StageUse* use = UseOf(c, stage.id);
    if (RoleOf(c, stage.id) != StageRole::kSource || use == nullptr || use->serial) continue;
    if (!WorthAt(c, stage.id, kCauses) || CallsPython(c, stage.id)) continue;
    if (IsTuned(c, stage.id)) continue;
    const auto* source = As<SourceSpec>(c, stage.id);
    int64_t most = kMostReaders;
    if (const size_t files = FilesOf(c, stage.id); files > 0) {
      most = std::min(most, static_cast<int64_t>(files));
    }
    const int64_t now = use->workers;
    const int64_t readers = WorkersFor(load, stage.id, now, most);
    if (readers <= now) continue;
    if (source != nullptr && (source->parallelism.automatic || Throttled(c, *source))) continue;
    const double share = Blamed(c, stage.id, kCauses);
    Draft draft = About(
        c, stage.id, share,
        fmt::format("{} of step time is spent waiting for {}, which reads with {}", Percent(share),
                    stage.name, Counted(static_cast<uint64_t>(now), "worker")));
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: busy {} of the time, {} per element", stage.name,
                     Percent(use->utilization), Duration(use->service_ns.mean)));
    draft.args.value = WorkersInCode(c, readers);
    Recommend(draft, fmt::format("read with {} workers, each from its own file", readers),
              Readers(c, stage.id, readers), WithWorkers(stage.id, readers));
    CostsMemory(draft, 2 * BytesOfElement(c) * static_cast<double>(readers - now));
    drafts.push_back(std::move(draft));
  }
}

}  // namespace

extern const Rule kRule = {
    .id = "parallel-reads",
    .row = 2,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .tf_data = R"py(ds = tf.data.Dataset.list_files("data-*.tfrecord").interleave(
    tf.data.TFRecordDataset, cycle_length={value}, num_parallel_calls={value}))py",
        .pytorch = R"py(loader = DataLoader(dataset, batch_size, num_workers={value}))py",
        .dali = R"py(data = fn.readers.tfrecord(path=files, index_path=indexes, features=features,
                           prefetch_queue_depth={value}, read_ahead=True))py",
        .grain =
            R"py(ds = ds.to_iter_dataset(grain.ReadOptions(num_threads={value}, prefetch_buffer_size=64)))py",
    }};

}  // namespace stallscope::findings::parallel_reads
