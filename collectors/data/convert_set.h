// Converts a data set to another format: the same images, pixel for pixel, with their classes.
//
//   JPEG and PNG files are copied between image folders and TFRecord, byte for byte, with their
//   names (image/filename) and class names (image/class/text). CSV, HDF5 and raw tensors hold
//   pixels, which become PNG files where a file must be encoded: that loses nothing. TFRecord to
//   TFRecord copies records, and raw to raw copies tensors, whatever they hold.
//
// CSV, HDF5 and raw tensors need images of one size. The source is read twice: a first pass counts
// and checks it, so that a conversion that cannot succeed fails before anything is written. The
// calling thread reads and writes; the others decode and encode.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "collectors/data/manifest.h"

namespace stallscope::data {

struct ConvertOptions {
  std::vector<std::string> sources;  // files, patterns, folders
  std::string folder;                // as in GenerateOptions
  DataFormat format = DataFormat::kTfRecord;
  std::optional<int> shards;  // none: one per 256 MiB, but at least 4; unused for images
  int threads = 0;            // 0: as many as there are cores
};

struct ConvertProgress {
  int64_t done = 0;
  int64_t images = 0;  // 0: still counting
};
// Called on the caller's thread every few images. False stops: the same call continues from there.
using OnConvertProgress = std::function<bool(const ConvertProgress&)>;

// Treats its folder as Generate() does. After a stop or a kill it continues after the last complete
// file, or starts over if the source has changed. kUsage: the folder is the source's, is inside it,
// or contains it; the format cannot hold these images. kInput: a source is missing. kRun: damage,
// with its place.
Result<Manifest> Convert(const ConvertOptions& options, const OnConvertProgress& on_progress = {});

}  // namespace stallscope::data
