// The words in exported files for what the trace stores as numbers.
#pragma once

#include "analyzer/trace/events.h"

namespace stallscope::exporting {

constexpr const char* WordFor(trace::WaitCause cause) {
  switch (cause) {
    case trace::WaitCause::kEmpty:
      return "empty";
    case trace::WaitCause::kFull:
      return "full";
    case trace::WaitCause::kIo:
      return "io";
    case trace::WaitCause::kDevice:
      return "device";
    case trace::WaitCause::kLock:
      return "lock";
    case trace::WaitCause::kStartup:
      return "startup";
    case trace::WaitCause::kUnknown:
      break;
  }
  return "unknown";
}

constexpr const char* WordFor(trace::SpanActivity activity) {
  switch (activity) {
    case trace::SpanActivity::kOperator:
      return "operator";
    case trace::SpanActivity::kRuntime:
      return "runtime";
    case trace::SpanActivity::kFunction:
      return "function";
    case trace::SpanActivity::kAnnotation:
      return "annotation";
    case trace::SpanActivity::kMemset:
      return "memset";
    case trace::SpanActivity::kLoader:
      return "loader";
    case trace::SpanActivity::kOp:
      return "op";
    case trace::SpanActivity::kEvaluation:
      return "evaluation";
    case trace::SpanActivity::kNone:
      break;
  }
  return "work";
}

constexpr const char* WordFor(trace::CopyDirection direction) {
  switch (direction) {
    case trace::CopyDirection::kDeviceToHost:
      return "d2h";
    case trace::CopyDirection::kDeviceToDevice:
      return "d2d";
    case trace::CopyDirection::kHostToDevice:
      break;
  }
  return "h2d";
}

constexpr const char* WordFor(trace::CopyMemory memory) {
  switch (memory) {
    case trace::CopyMemory::kPinned:
      return "pinned";
    case trace::CopyMemory::kPageable:
      return "pageable";
    case trace::CopyMemory::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace stallscope::exporting
