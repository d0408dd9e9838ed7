// The figures of a document as inline SVG. Empty where there is nothing to draw. Texts are escaped
// here: callers pass what the document holds. Private to the room; any thread.
#pragma once

#include <string>

#include "analyzer/report/document.h"

namespace stallscope::report::html {

inline constexpr double kPictureWidth = 1040;

// A picture `height` high around the markup `inside`; `label` is for screen readers.
std::string Svg(double height, const std::string& label, const std::string& inside);

std::string Picture(const BreakdownFigure& figure);
std::string Picture(const LanesFigure& figure);
std::string Picture(const StepTimesFigure& figure);
std::string Picture(const StageGraphFigure& figure);
std::string Picture(const SweepFigure& figure);  // sweep_pictures.cpp

}  // namespace stallscope::report::html
