#include "analyzer/importers/chrome/kind.h"

#include <array>
#include <charconv>
#include <utility>

namespace stallscope::importers::chrome {
namespace {

using Row = std::pair<std::string_view, Kind>;

// 2021's names, then those since; other accelerators' as Kineto has them.
constexpr std::array<Row, 28> kKinds = {{
    {"Operator", Kind::kOperator},
    {"Runtime", Kind::kRuntime},
    {"Kernel", Kind::kKernel},
    {"Memcpy", Kind::kCopy},
    {"Memset", Kind::kMemset},
    {"Python", Kind::kOperator},
    {"cpu_op", Kind::kOperator},
    {"cuda_runtime", Kind::kRuntime},
    {"cuda_driver", Kind::kRuntime},
    {"hip_runtime", Kind::kRuntime},
    {"hip_driver", Kind::kRuntime},
    {"xpu_runtime", Kind::kRuntime},
    {"xpu_driver", Kind::kRuntime},
    {"mtia_runtime", Kind::kRuntime},
    {"privateuse1_runtime", Kind::kRuntime},
    {"privateuse1_driver", Kind::kRuntime},
    {"python_function", Kind::kFunction},
    {"user_annotation", Kind::kAnnotation},
    {"gpu_user_annotation", Kind::kDeviceNote},
    {"cuda_sync", Kind::kDeviceNote},
    {"kernel", Kind::kKernel},
    {"mtia_kernel", Kind::kKernel},
    {"mtia_ccp_events", Kind::kKernel},
    {"gpu_memcpy", Kind::kCopy},
    {"gpu_memset", Kind::kMemset},
    {"Trace", Kind::kProfiler},
    {"overhead", Kind::kProfiler},
    {"cpu_instant_event", Kind::kProfiler},
}};

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

Kind KindOf(std::string_view category) {
  for (const auto& [name, kind] : kKinds) {
    if (category == name) return kind;
  }
  return Kind::kOther;
}

trace::SpanActivity ActivityOf(Kind kind) {
  switch (kind) {
    case Kind::kOperator:
      return trace::SpanActivity::kOperator;
    case Kind::kRuntime:
      return trace::SpanActivity::kRuntime;
    case Kind::kFunction:
      return trace::SpanActivity::kFunction;
    case Kind::kAnnotation:
      return trace::SpanActivity::kAnnotation;
    case Kind::kMemset:
      return trace::SpanActivity::kMemset;
    default:
      return trace::SpanActivity::kNone;
  }
}

CopyKind CopyKindOf(std::string_view name) {
  CopyKind kind;
  if (Has(name, "HtoD") || Has(name, "H2D") || Has(name, "HostToDevice") ||
      name == "HOST_TO_DEVICE") {
    kind.direction = trace::CopyDirection::kHostToDevice;
  } else if (Has(name, "DtoH") || Has(name, "D2H") || Has(name, "DeviceToHost") ||
             name == "DEVICE_TO_HOST") {
    kind.direction = trace::CopyDirection::kDeviceToHost;
  }
  if (Has(name, "Pinned")) {
    kind.memory = trace::CopyMemory::kPinned;
  } else if (Has(name, "Pageable")) {
    kind.memory = trace::CopyMemory::kPageable;
  }
  return kind;
}

void TakeCopyDetails(std::string_view details, trace::Copy& copy) {
  const std::string_view key = "size:";
  const size_t size = details.find(key);
  if (size != std::string_view::npos) {
    const char* begin = details.data() + size + key.size();
    std::from_chars(begin, details.data() + details.size(), copy.bytes);
  }
  const bool pageable = Has(details, "ageable");
  const bool pinned = Has(details, "inned");
  if (pageable != pinned) {
    copy.memory = pinned ? trace::CopyMemory::kPinned : trace::CopyMemory::kPageable;
  }
}

}  // namespace stallscope::importers::chrome
