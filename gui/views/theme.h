// Colors by meaning, for a dark and a light window. Any thread.
//
// The colors of data are safe for common color blindness (Okabe and Ito's palette for the
// categories of time, Paul Tol's for the stages), and no meaning depends on color alone: waits are
// low, stalls are hatched, everything else is labeled.
#pragma once

#include <imgui.h>

#include "gui/session/settings.h"
#include "gui/viewmodel/paint.h"

namespace stallscope::views {

struct Colors {
  ImU32 window = 0;  // behind everything
  ImU32 rail = 0;    // menus, the list of panels, the status
  ImU32 card = 0;
  ImU32 raised = 0;  // buttons, the row under the pointer
  ImU32 border = 0;
  ImU32 text = 0;
  ImU32 muted = 0;  // explanations
  ImU32 faint = 0;  // ticks and disabled items
  ImU32 accent = 0;
  ImU32 on_accent = 0;
  ImU32 good = 0;
  ImU32 warning = 0;
  ImU32 bad = 0;
  ImU32 lane = 0;  // an empty lane of the timeline
  ImU32 grid = 0;
  ImU32 hatch = 0;
};

const Colors& ColorsOf(session::Theme theme);
ImU32 ColorOf(viewmodel::Paint paint, session::Theme theme);

// Black or white, whichever is easier to read on `background`.
ImU32 TextOn(ImU32 background);
// `part` 0: all of `from`, 1: all of `to`. Opaque.
ImU32 Mixed(ImU32 from, ImU32 to, float part);
ImU32 WithAlpha(ImU32 color, float alpha);

}  // namespace stallscope::views
