// What the events of PyTorch's profiler are, by their category in all of its dialects. Any thread.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_CHROME_KIND_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_CHROME_KIND_H_

#include <cstdint>
#include <string_view>

#include "analyzer/trace/events.h"

namespace stallscope::importers::chrome {

enum class Kind : uint8_t {
  kOther,       // no category of PyTorch's
  kOperator,    // Operator, cpu_op
  kRuntime,     // Runtime, cuda_runtime, cuda_driver, hip_runtime, ...
  kFunction,    // python_function
  kAnnotation,  // user_annotation
  kDeviceNote,  // what mirrors the host's on a stream, and waits there: nothing runs
  kKernel,
  kCopy,
  kMemset,
  kProfiler  // the profiler about itself
};

Kind KindOf(std::string_view category);
trace::SpanActivity ActivityOf(Kind kind);

// "Memcpy HtoD (Pageable -> Device)", MEMCPYHtoD, MemcpyH2D, CopyHostToDevice, ...
struct CopyKind {
  trace::CopyDirection direction = trace::CopyDirection::kDeviceToDevice;
  trace::CopyMemory memory = trace::CopyMemory::kUnknown;
};
CopyKind CopyKindOf(std::string_view name);

// TensorFlow's words on a copy, in both dialects: "kind:pageable size:4 dest:0 async:1" and
// "kind_src:pageable kind_dst:device size:150528 ...".
void TakeCopyDetails(std::string_view details, trace::Copy& copy);

}  // namespace stallscope::importers::chrome

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_CHROME_KIND_H_
