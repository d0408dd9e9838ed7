// What things look like, by meaning and never by color alone: a paint is a word, a hatch and an
// entry of the theme's palette. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "analyzer/attribution/category.h"
#include "analyzer/base/ids.h"
#include "analyzer/trace/events.h"

namespace stallscope::viewmodel {

// The seven categories in their order, then what tracks show, then stages (kStage0 + id % 8).
enum class Paint : uint8_t {
  kCompute,
  kCommunication,
  kTransfer,
  kLaunch,
  kInputStall,
  kSync,
  kOther,
  kNothing,
  kWaitEmpty,
  kWaitFull,
  kWaitIo,
  kWaitDevice,
  kWaitLock,
  kWaitUnknown,
  kQueueDepth,
  kCounter,
  kSelected,
  kChain,
  kPath,
  kEvenStep,
  kOddStep,
  kStage0,
  kStage1,
  kStage2,
  kStage3,
  kStage4,
  kStage5,
  kStage6,
  kStage7
};
constexpr size_t kPaints = 29;
constexpr size_t kStagePaints = 8;

enum class Hatch : uint8_t { kNone, kRising, kFalling, kCrossed, kDots, kHorizontal };

std::string_view WordFor(Paint paint);  // "input stall", "waits for input"; of a stage "work"
Hatch HatchOf(Paint paint);
bool IsWait(Paint paint);

Paint PaintOf(attribution::Category category);
Paint PaintOf(trace::WaitCause cause);
Paint PaintOfStage(StageId stage);  // None: kOther
// For an operation without a stage: the same name gives the same paint.
Paint PaintOfName(trace::StringId name);

}  // namespace stallscope::viewmodel
