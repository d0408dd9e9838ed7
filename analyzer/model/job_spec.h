// The settings of a recorded job as a spec: its knobs are those of `run --set`, `replay --vary`,
// patches and the window. Any thread.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/model/run.h"
#include "analyzer/spec/spec.h"

namespace stallscope::model {

bool IsJob(const Run& run);

// The pass over a loader that a job's item belongs to, unlike that of any other loader; and the
// item's loader (collectors/recorder/RING.md).
constexpr uint64_t PassOf(ItemId item) { return item.value >> 32U; }
constexpr uint64_t LoaderOf(ItemId item) { return item.value >> 48U; }

// What a reader calls the item: "element 7"; of a job, whose items are batches, "batch 7 of pass
// 2".
std::string ItemInWords(const Run& run, ItemId item);

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

// Whether the loader has any of them. The iterator of another library, or of the job itself, has
// settings of its own, or none; a trace without settings may be of any loader.
bool HasKnobs(const trace::LoaderInfo& info);

// The same as a spec has it. A trace may say anything: what makes no sense is left at its default.
LoaderSpec LoaderSpecOf(const trace::LoaderInfo& info);

}  // namespace stallscope::model
