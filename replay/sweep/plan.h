// Which configurations a sweep has. Any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analyzer/findings/finding.h"
#include "analyzer/model/run.h"
#include "analyzer/report/report.h"
#include "analyzer/spec/patch.h"
#include "analyzer/spec/spec.h"
#include "replay/sweep/predictor.h"
#include "replay/sweep/sweep.h"

namespace stallscope::replay {

// A patch, named after its file.
struct NamedPatch {
  std::string name;
  Patch patch;
};

// A sweep of this run without points. `spec` is what the points change.
Sweep SweepOf(const model::Run& run, const Spec& spec);

// The grid's points, then one per patch. Finds the base among them.
void PlanGrid(const Spec& spec, const std::vector<Axis>& axes,
              const std::vector<NamedPatch>& patches, Sweep& sweep);

// One point per recommendation with a patch, in the report's order.
void PlanVerification(const report::Report& report, Sweep& sweep);

// Combines what helped: starts with the largest measured (or else predicted) gain, and adds each
// further recommendation that applies, and that gains something on top of the others according to
// the simulation. A change that may affect what is learned is never combined: whoever wants it asks
// for it by name. Adds a point named kBestCombination, unless a single one is already the best or
// the sweep has that point.
inline constexpr const char* kBestCombination = "best combination";
void PlanCombination(const Spec& spec, const Predictor* predictor, Sweep& sweep);

// The point to choose: of those that learn the same and are as fast as the fastest, within the
// noise, the one with the fewest changes. Nothing if none is faster than the base, or nothing was
// run.
std::optional<size_t> BestOf(const Spec& spec, const Sweep& sweep);

}  // namespace stallscope::replay
