// Phrases that several panels share. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/attribution/category.h"
#include "analyzer/findings/finding.h"
#include "analyzer/model/run.h"
#include "analyzer/spec/patch.h"

namespace stallscope::viewmodel {

// "it is CPU-bound", "it is reading data"
std::string_view PhraseFor(attribution::Cause cause);
// "cpu contention"
std::string NameOf(attribution::Cause cause);
// "costs 12.0 MiB", "frees 3.0 MiB"; empty if unknown or zero.
std::string CostText(const findings::Recommendation& recommendation);
// A counter's value with its unit: "1.20 GB/s", "72.4% of the time", "312 MiB". A cumulative one
// has its rate.
std::string CounterText(const trace::CounterInfo& counter, double value);
// What is assumed rather than measured on this device, for every panel whose figures depend on it;
// empty on a real one.
std::string AssumedOn(const trace::DeviceInfo& device);
// What a probe did to its stage: "decode slowed by 25%".
std::string SlowedText(const model::Run& run, const trace::Probe& window);
// "set decode.parallelism to 4"; a change a line.
std::vector<std::string> LinesOf(const Patch& patch);

}  // namespace stallscope::viewmodel
