// grain 0.2.12 and later, with JAX for what happens on the device.
#include <array>

#include "analyzer/findings/advice/advice.h"

namespace stallscope::findings::advice {
namespace {

constexpr std::array kGrainLines = {
    Line{"record-format",
         R"py(writer = array_record_module.ArrayRecordWriter("data.array_record", "group_size:1")
for record in records:
    writer.write(record)
writer.close()
ds = grain.MapDataset.source(grain.sources.ArrayRecordDataSource("data.array_record")))py"},
    Line{
        "parallel-reads",
        R"py(ds = ds.to_iter_dataset(grain.ReadOptions(num_threads={value}, prefetch_buffer_size=64)))py"},
    Line{"sharding", R"py(ds = ds[rank::{value}]  # first of all)py"},
    Line{
        "map-parallelism",
        R"py(ds = ds.mp_prefetch(grain.MultiprocessingOptions(num_workers={value}))  # last of all)py"},
    Line{"autotune", R"py(config = grain.experimental.pick_performance_config(
    ds=ds, ram_budget_mb=8192, max_workers=16, max_buffer_size=64)
ds = ds.mp_prefetch(config.multiprocessing_options))py"},
    Line{"vectorise", R"py(ds = ds.batch(batch_size).map({stage}))py"},
    Line{"map-fusion", R"py(ds = ds.map(lambda x: {stage}({value}(x))))py"},
    Line{"shuffle-buffer", R"py(ds = ds.shuffle(seed=seed)  # of a MapDataset: over all of it)py"},
    Line{"shuffle-place",
         R"py(ds = grain.MapDataset.source(source).shuffle(seed=seed).map(decode))py"},
    Line{"prefetch", R"py(ds = ds.mp_prefetch(grain.MultiprocessingOptions(
    num_workers=num_workers, per_worker_buffer_size={value})))py"},
    Line{"batch-size", R"py(ds = ds.batch({value}, drop_remainder=True))py"},
    Line{"drop-remainder", R"py(ds = ds.batch({value}, drop_remainder=True))py"},
    Line{"copy-overlap", R"py(ds = grain.experimental.device_put(
    ds=ds, device=jax.devices()[0], cpu_buffer_size=4, device_buffer_size={value}))py"},
    Line{"narrow-dtype", R"py(@jax.jit
def train_step(state, images, labels):  # uint8 from the pipeline
    images = images.astype(jnp.float32) / 255)py"},
    Line{"device-preprocessing", R"py(@jax.jit
def train_step(state, images, labels):
    images = (images.astype(jnp.float32) - mean) / std)py"},
    Line{"kernel-fusion", R"py(train_step = jax.jit(train_step)  # XLA fuses what is inside)py"},
    Line{"captured-graph", R"py(train_step = jax.jit(train_step, donate_argnums=0))py"},
    Line{
        "retracing",
        R"py(train_step = jax.jit(train_step)  # pad batches to one shape; see jax_explain_cache_misses)py"},
    Line{"eager-ops", R"py(train_step = jax.jit(train_step))py"},
    Line{"mixed-precision",
         R"py(layer = nn.Dense(features, dtype=jnp.bfloat16, param_dtype=jnp.float32))py"},
    Line{"sync-points", R"py(if step % 50 == 0:  # float() waits for the device
    print(float(loss)))py"},
};

}  // namespace

std::span<const Line> Grain() { return kGrainLines; }

}  // namespace stallscope::findings::advice
