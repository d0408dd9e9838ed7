// Row 21: a source that only one reader at a time can read, such as a Python generator.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "analyzer/findings/named_ops.h"
#include "analyzer/findings/rules/rule.h"
#include "analyzer/model/job_spec.h"

namespace stallscope::findings::serial_source {
namespace {

// In place of a py_function.
constexpr Advice kInTensorFlow = {
    .tf_data =
        R"py(ds = ds.map(function_of_tensors, num_parallel_calls={value})  # tf.image, tf.io, tf.strings)py",
};

constexpr Advice kInThreadsOfKeras = {
    .tf_data = R"py(data = Data(..., workers={value})  # a PyDataset)py",
};

constexpr Advice kInKeras = {
    .tf_data = R"py(data = Data(..., workers={value}, use_multiprocessing=True)  # a PyDataset)py",
};

// Of the time that is waited for it, waiting itself.
constexpr double kMostlyWaits = 0.5;

// The Keras PyDataset of a job that a stage's generator calls.
struct PyDataset {
  int64_t workers = 1;
  bool processes = false;
};
std::optional<PyDataset> PyDatasetOf(const Case& c, const trace::StageInfo& stage) {
  if (stage.loader.value >= c.run.loaders.size()) return std::nullopt;
  const auto settings = model::SettingsOf(c.run.loaders[stage.loader.value].info);
  const auto workers = settings.find("py_dataset_workers");
  if (workers == settings.end()) return std::nullopt;
  PyDataset data;
  std::from_chars(workers->second.data(), workers->second.data() + workers->second.size(),
                  data.workers);
  data.workers = std::clamp<int64_t>(data.workers, 1, kMostWorkers);
  const auto processes = settings.find("py_dataset_processes");
  data.processes = processes != settings.end() && processes->second == "true";
  return data;
}

// Loads in processes what Keras loads in the thread of a generator, or in threads that share a
// lock; in more threads what only waits.
void Keras(const Case& c, const trace::StageInfo& stage, const PyDataset& data, double share,
           std::vector<Draft>& drafts) {
  const bool waits =
      !data.processes && Blamed(c, stage.id, {Cause::kIo, Cause::kBlocked}) > kMostlyWaits * share;
  const auto cores = static_cast<int64_t>(std::llround(c.attribution.cpu.cores));
  const int64_t more = data.workers > 1 ? 2 * data.workers : 2;
  const int64_t workers = waits ? std::max(more, WorkersToHide(Share(c, Category::kInputStall)))
                                : std::max<int64_t>(data.processes ? more : 2, cores);
  Draft draft = About(
      c, stage.id, share,
      fmt::format(
          "{} of step time is spent waiting for the job's PyDataset, which has {}", Percent(share),
          Counted(static_cast<uint64_t>(data.workers), data.processes ? "worker process" : "thread",
                  data.processes ? "worker processes" : "threads")));
  draft.args.value = std::to_string(workers);
  draft.advice = waits ? &kInThreadsOfKeras : &kInKeras;
  RecommendUnpriced(draft,
                    fmt::format("load in {}: workers={}{} where the PyDataset is constructed",
                                waits ? "threads" : "processes", workers,
                                waits ? "" : ", use_multiprocessing=True"),
                    Patch(), "Keras's workers are not recorded: record the change");
  drafts.push_back(std::move(draft));
}

// For an imported run, in its framework's terms.
void Python(const Case& c, const Load* load, const trace::StageInfo& stage,
            const attribution::StageUse& use, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kInputStall)) return;
  const std::optional<PyDataset> data = PyDatasetOf(c, stage);
  // Bursts are Keras's queue that runs empty: the graph behind it is not the job's.
  const double share = data.has_value() ? Blamed(c, stage.id) : BlamedForWork(c, stage.id);
  if (share < kModerateShare) return;
  if (data.has_value()) return Keras(c, stage, *data, share, drafts);
  const bool source = RoleOf(c, stage.id) == StageRole::kSource;
  const std::optional<NamedOp> python = OpsOfFamily(c, OpFamily::kPython);
  const std::string how =
      source ? "is a Python generator"
             : "calls Python for each element (" + (python ? python->name : "PyFunc") + ")";
  Draft draft =
      About(c, stage.id, share,
            fmt::format("{} of step time is spent waiting for {}, which {}: Python's lock allows "
                        "one element at a time",
                        Percent(share), stage.name, how));
  Show(draft, Evidence::Kind::kSpans,
       fmt::format("{}: {} per element, one at a time", stage.name, Duration(use.service_ns.mean)));
  draft.args.value = WorkersInCode(c, WorkersFor(load, stage.id, 1, kMostReaders));
  if (!source) draft.advice = &kInTensorFlow;
  RecommendUnpriced(draft,
                    source ? "write the elements to TFRecord files once, and read these in parallel"
                           : "rewrite the function with TensorFlow operations, which run in "
                             "parallel, or do its work once, before training",
                    Patch(), "this trace does not show how fast that would be: record the change");
  drafts.push_back(std::move(draft));
}

void Check(const Case& c, const Load* load, std::vector<Draft>& drafts) {
  for (const auto& stage : c.run.stages) {
    const attribution::StageUse* use = UseOf(c, stage.id);
    if (use == nullptr) continue;
    if (CallsPython(c, stage.id)) {
      Python(c, load, stage, *use, drafts);
      continue;
    }
    if (RoleOf(c, stage.id) != StageRole::kSource || !use->serial) continue;
    if (!WorthAt(c, stage.id, {Cause::kSerial, Cause::kLock})) continue;
    const double share = Blamed(c, stage.id, {Cause::kSerial, Cause::kLock});
    Draft draft =
        About(c, stage.id, share,
              fmt::format("{} of step time is spent waiting for {}, which produces one element at "
                          "a time: more workers would only wait for each other",
                          Percent(share), stage.name));
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: {} per element, one at a time", stage.name,
                     Duration(use->service_ns.mean)));
    const int64_t readers = WorkersFor(load, stage.id, 1, kMostReaders);
    draft.args.value = std::to_string(readers);
    const auto* source = As<SourceSpec>(c, stage.id);
    const std::string text = fmt::format(
        "split {} into {} sources that can be read in parallel, one for each part of the data",
        stage.name, readers);
    // A source that generates its elements has a parallel twin; for one that reads files the format
    // is not known.
    const bool twin =
        source != nullptr && source->format == SourceFormat::kSerial && source->files.empty();
    Patch patch;
    if (twin) {
      patch = Setting(stage.name + ".format", "synthetic");
      patch.changes.emplace_back(SetTo(stage.name + ".parallelism", readers));
    }
    Recommend(draft, text, std::move(patch), WithWorkers(stage.id, readers));
    drafts.push_back(std::move(draft));
  }
}

}  // namespace

extern const Rule kRule = {
    .id = "serial-source",
    .row = 21,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .tf_data = R"py(ds = tf.data.Dataset.range({value}).interleave(
    lambda part: tf.data.Dataset.from_generator(
        {stage}, args=(part,), output_signature=signature),  # generators share Python's lock:
    cycle_length={value}, num_parallel_calls={value})        # read files by tf.data where you can)py",
        .pytorch = R"py(class Parts(torch.utils.data.IterableDataset):
    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        return {stage}(part=worker.id, parts=worker.num_workers)
loader = DataLoader(Parts(), batch_size, num_workers={value}))py",
        .dali = R"py(@pipeline_def(batch_size=batch_size, num_threads=4, device_id=0,
              py_num_workers={value}, py_start_method="spawn")
def pipe():
    return fn.external_source(source={stage}, parallel=True, batch=False))py",
    }};

}  // namespace stallscope::findings::serial_source
