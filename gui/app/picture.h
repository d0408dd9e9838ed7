// A panel as a file, drawn on the CPU: no display, no driver. One thread.
#pragma once

#include <string>

#include "analyzer/base/result.h"
#include "gui/app/options.h"
#include "gui/session/state.h"

namespace stallscope::app {

struct PictureLook {
  session::Theme theme = session::Theme::kLight;
  double scale = 1;
  int width = 1280;  // in pixels at scale 1
  int height = 800;
};

// The panel as `state` has it, in a window of this size. kRun if the file cannot be written.
Status WritePicture(const session::State& state, const PictureOrder& order,
                    const PictureLook& look);

// Opens the trace and waits until it is analyzed. kInput if it cannot be opened.
Status ExportPicture(const Options& options);

}  // namespace stallscope::app
