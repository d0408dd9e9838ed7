// XPlane: what the profilers of TensorFlow, JAX and PyTorch/XLA write (`*.xplane.pb`), a protobuf
// message XSpace. README.md of analyzer/importers says what becomes of its events.
//
// Read in two passes over the file's own bytes; no object is made for an event. Memory is the
// run's, plus the names; of a packed file also what it unpacks to. Any thread.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_XPLANE_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_XPLANE_H_

#include <string_view>

#include "analyzer/base/result.h"
#include "analyzer/importers/foreign/byte_source.h"
#include "analyzer/model/run.h"

namespace stallscope::importers::xplane {

// By the first bytes, for which ByteSource::head() is enough: a plane's beginning with its name.
bool LooksLikeXSpace(std::string_view head);

// An error where nothing of it can be used. What is damaged, left out or not known is in the run's
// quality and limits.
Result<model::Run> ReadXPlane(ByteSource& source);

}  // namespace stallscope::importers::xplane

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_XPLANE_XPLANE_H_
