// Brings what a verification measured into the run's report. Any thread.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/model/run.h"
#include "analyzer/report/report.h"
#include "replay/sweep/sweep.h"

namespace stallscope::replay {

// The sweeps among the JSON files in the trace's folder that verify this recording, under any name,
// oldest first; RUN.sweep.json beside RUN.sst is the convention. Empty where there are none or the
// folder cannot be read.
std::vector<Sweep> FindVerifications(const model::Run& run);

// What a point of a sweep gains over its base; nothing where one of both was not measured.
std::optional<findings::Measurement> MeasuredGain(const Sweep& sweep, const Point& point);

// After how many passes over what it stores, the one that fills it included, a store has saved the
// time that filling it cost; nothing if it saves none, or if that was not measured.
std::optional<double> PassesToPay(const Sweep& sweep, const Point& point);

// Sets `measured` of each recommendation whose patch the sweeps have measured. What several of them
// found of one change counts together: the last one alone would hide that they differ.
void SetMeasuredGains(const std::vector<Sweep>& sweeps, report::Report& report);

}  // namespace stallscope::replay
