// An image as a PNG. Any thread.
#ifndef STALLSCOPE_GUI_RASTER_PNG_WRITER_H_
#define STALLSCOPE_GUI_RASTER_PNG_WRITER_H_

#include <string>

#include "analyzer/base/result.h"
#include "gui/raster/image.h"

namespace stallscope::raster {

// The file's bytes: RGB, 8 bits. Alpha is left out: a window is opaque.
Result<std::string> EncodePng(const Image& image);

}  // namespace stallscope::raster

#endif  // STALLSCOPE_GUI_RASTER_PNG_WRITER_H_
