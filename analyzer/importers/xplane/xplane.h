// XPlane: what the profilers of TensorFlow, JAX and PyTorch/XLA write (`*.xplane.pb`), a protobuf
// message XSpace. analyzer/importers/README.md documents how events map to a run.
//
// Read in two passes over the file's own bytes, without an object per event. Memory is the run's
// plus the names; for a packed file also its unpacked content. Any thread.
#pragma once

#include <string_view>

#include "analyzer/base/result.h"
#include "analyzer/importers/foreign/byte_source.h"
#include "analyzer/model/run.h"

namespace stallscope::importers::xplane {

// Decides by the first bytes, for which ByteSource::head() suffices: the beginning of a plane with
// its name.
bool LooksLikeXSpace(std::string_view head);

// An error if nothing in it is usable. Whatever is damaged, left out or unknown is in the run's
// quality and limits.
Result<model::Run> ReadXPlane(ByteSource& source);

}  // namespace stallscope::importers::xplane
