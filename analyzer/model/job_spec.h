// The settings of a recorded job as a spec: its knobs are those of `run --set`, `replay --vary`,
// patches and the window. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/model/run.h"
#include "analyzer/spec/spec.h"

namespace stallscope::model {

bool IsJob(const Run& run);

// Of a job's batch: the pass over its loader's data that it belongs to, and the loader of that
// (collectors/recorder/RING.md).
constexpr uint64_t PassOfBatch(ItemId batch) { return batch.value >> 32U; }
constexpr uint64_t LoaderOfBatch(ItemId batch) { return batch.value >> 48U; }

// As they were in the recording. Empty for a run that is no job, and for one in which no loader
// with knobs was seen.
std::optional<Spec> JobSpecOf(const Run& run);

// What the loader's constructor was given, by name, each as JSON text: 2, true, "spawn". Empty
// where the trace's text is no such table.
std::map<std::string, std::string> SettingsOf(const trace::LoaderInfo& info);

// Those of them that are knobs, the one that decides most first.
constexpr std::array<std::string_view, 7> kLoaderKnobs = {
    "batch_size", "num_workers", "prefetch_factor",        "persistent_workers",
    "pin_memory", "in_order",    "multiprocessing_context"};

// Whose stages a profile shows: they have no settings that could be changed from outside.
bool IsTfData(const trace::LoaderInfo& loader);

// Whether the loader has any of them. The iterator of another library, or of the job itself, has
// settings of its own, or none; a trace without settings may be of any loader.
bool HasKnobs(const trace::LoaderInfo& info);

// The same as a spec has it. A trace may say anything: what makes no sense is left at its default.
LoaderSpec LoaderSpecOf(const trace::LoaderInfo& info);

}  // namespace stallscope::model
