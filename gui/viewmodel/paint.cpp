#include "gui/viewmodel/paint.h"

#include <array>

namespace stallscope::viewmodel {
namespace {

struct Look {
  std::string_view word;
  Hatch hatch;
};

constexpr std::array<Look, kPaints> kLooks = {{{"compute", Hatch::kNone},
                                               {"communication", Hatch::kDots},
                                               {"transfer", Hatch::kHorizontal},
                                               {"launch", Hatch::kFalling},
                                               {"input stall", Hatch::kRising},
                                               {"sync", Hatch::kCrossed},
                                               {"other", Hatch::kNone},
                                               {"nothing", Hatch::kNone},
                                               {"waits for input", Hatch::kRising},
                                               {"waits for space", Hatch::kFalling},
                                               {"waits for I/O", Hatch::kDots},
                                               {"waits for the device", Hatch::kHorizontal},
                                               {"waits for a lock", Hatch::kCrossed},
                                               {"waits", Hatch::kRising},
                                               {"queue depth", Hatch::kNone},
                                               {"counter", Hatch::kNone},
                                               {"selected", Hatch::kNone},
                                               {"blame chain", Hatch::kNone},
                                               {"path", Hatch::kNone},
                                               {"step", Hatch::kNone},
                                               {"step", Hatch::kNone},
                                               {"work", Hatch::kNone},
                                               {"work", Hatch::kNone},
                                               {"work", Hatch::kNone},
                                               {"work", Hatch::kNone},
                                               {"work", Hatch::kNone},
                                               {"work", Hatch::kNone},
                                               {"work", Hatch::kNone},
                                               {"work", Hatch::kNone}}};

const Look& LookOf(Paint paint) { return kLooks[static_cast<size_t>(paint)]; }

}  // namespace

std::string_view WordFor(Paint paint) { return LookOf(paint).word; }

Hatch HatchOf(Paint paint) { return LookOf(paint).hatch; }

bool IsWait(Paint paint) { return paint >= Paint::kWaitEmpty && paint <= Paint::kWaitUnknown; }

Paint PaintOf(attribution::Category category) { return static_cast<Paint>(category); }

Paint PaintOf(trace::WaitCause cause) {
  switch (cause) {
    case trace::WaitCause::kEmpty:
      return Paint::kWaitEmpty;
    case trace::WaitCause::kFull:
      return Paint::kWaitFull;
    case trace::WaitCause::kIo:
      return Paint::kWaitIo;
    case trace::WaitCause::kDevice:
      return Paint::kWaitDevice;
    case trace::WaitCause::kLock:
      return Paint::kWaitLock;
    case trace::WaitCause::kStartup:
    case trace::WaitCause::kUnknown:
      break;
  }
  return Paint::kWaitUnknown;
}

Paint PaintOfStage(StageId stage) {
  if (!stage.known()) return Paint::kOther;
  return static_cast<Paint>(static_cast<size_t>(Paint::kStage0) + stage.value % kStagePaints);
}

Paint PaintOfName(trace::StringId name) {
  if (!name.known()) return Paint::kOther;
  return static_cast<Paint>(static_cast<size_t>(Paint::kStage0) + name.value % kStagePaints);
}

}  // namespace stallscope::viewmodel
