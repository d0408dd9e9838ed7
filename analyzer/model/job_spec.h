// The settings of a recorded job as a spec: its knobs are those of `run --set`, `replay --vary`,
// patches and the window. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyzer/model/run.h"
#include "analyzer/spec/spec.h"

namespace stallscope::model {

bool IsJob(const Run& run);

// The pass of a job's batch, unique across loaders, and the loader (collectors/recorder/RING.md).
constexpr uint64_t PassOfBatch(ItemId batch) { return batch.value >> 32U; }
constexpr uint64_t LoaderOfBatch(ItemId batch) { return batch.value >> 48U; }

// The batches that a job's steps take beside their own, by that: of a loop over zip(a, b), say.
std::unordered_map<uint64_t, std::vector<ItemId>> OtherBatches(const Run& run);

// "element 7", or in a job, whose items are batches, "batch 7 of pass 2".
std::string ItemInWords(const Run& run, ItemId item);

// The recorded settings. Empty if the run is no job, or if none of its loaders has knobs.
std::optional<Spec> JobSpecOf(const Run& run);

// What the loader's constructor was given, by name, each as JSON text: 2, true, "spawn". Empty
// where the trace's text is no such table.
std::map<std::string, std::string> SettingsOf(const trace::LoaderInfo& info);

// Those of them that are knobs, the one that decides most first.
constexpr std::array<std::string_view, 7> kLoaderKnobs = {
    "batch_size", "num_workers", "prefetch_factor",        "persistent_workers",
    "pin_memory", "in_order",    "multiprocessing_context"};

// "data.py:7", the job's own call that takes a knob which the loader's constructor does not:
// "num_shards" where it divides the stream, "threads" where it makes the options or maps in
// parallel. Empty: unknown.
std::string CallPlaceOf(const trace::LoaderInfo& info, std::string_view knob);

// A loader whose stages a profile shows.
bool IsTfData(const trace::LoaderInfo& loader);

// One whose threads or processes make batches ahead of the loop.
bool IsGrain(const trace::LoaderInfo& info);

// The job constructs it for each of its passes, and so its workers are new ones, whatever the
// settings.
bool IsMadeAgain(const trace::LoaderInfo& info);

// Whether the loader has any of these knobs. An iterator of another library, or of the job itself,
// has other settings (kOtherLoaderKnobs) or none; a loader without recorded settings may be of any
// kind.
bool IsDataLoader(const trace::LoaderInfo& info);

// The same as a spec has it. A trace may say anything: what makes no sense is left at its default.
LoaderSpec LoaderSpecOf(const trace::LoaderInfo& info);

}  // namespace stallscope::model
