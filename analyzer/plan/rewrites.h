// The rewrites of a plan. None changes what comes out of the pipeline: not an element, not a bit,
// not the order; tests compare digests. Used by Lower (plan.h); any thread.
#pragma once

#include "analyzer/plan/plan.h"

namespace stallscope::plan {

// Applies those that are asked for, in a fixed order, and notes in the graph which changed
// something. One that could change the result leaves the graph alone.
void Rewrite(const RewritesSpec& asked, Graph& graph);

}  // namespace stallscope::plan
