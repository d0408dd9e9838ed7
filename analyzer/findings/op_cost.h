// How much of a map's time its ops take, where the run tells only the time of the whole map.
// Private to the room; any thread.
#ifndef STALLSCOPE_ANALYZER_FINDINGS_OP_COST_H_
#define STALLSCOPE_ANALYZER_FINDINGS_OP_COST_H_

#include <cstddef>
#include <vector>

#include "analyzer/spec/ops.h"

namespace stallscope::findings {

// Of the time that all of them take for an element, the part of those from `from` on; 0 to 1. Of
// ops whose cost is not in their call it is what they take of a photograph of 500x375: a share is
// all that is asked for, and they grow alike with the picture.
double ShareFrom(const std::vector<OpCall>& ops, size_t from);

}  // namespace stallscope::findings

#endif  // STALLSCOPE_ANALYZER_FINDINGS_OP_COST_H_
