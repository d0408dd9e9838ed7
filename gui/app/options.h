// The command line. Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "gui/session/panel.h"
#include "gui/session/settings.h"

namespace stallscope::app {

enum class PictureForm { kPng, kSvg };

struct PictureOrder {
  PictureForm form = PictureForm::kPng;
  session::Panel panel = session::Panel::kOverview;
  std::string file;
};

struct Options {
  std::vector<std::string> traces;
  std::optional<PictureOrder> picture;
  std::optional<session::Theme> theme;
  std::optional<double> scale;
  int width = 1280;  // of a picture, in pixels at scale 1
  int height = 800;
  std::string text;  // --help, --version, --man: what to print before exiting 0
};

// kUsage for an invalid command line.
Result<Options> ReadOptions(int argc, const char* const* argv);

}  // namespace stallscope::app
