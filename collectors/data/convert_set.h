// Converts a data set to another format: the same images, pixel for pixel, with their classes.
//
//   JPEG and PNG files are copied between image folders and TFRecord, byte for byte, with their
//   names (image/filename) and their classes' (image/class/text). CSV, HDF5 and raw tensors hold
//   pixels: these become PNG where a file must be encoded, which loses nothing. TFRecord to
//   TFRecord copies the records, raw to raw the tensors, whatever they hold.
//
// CSV, HDF5 and raw tensors need images of one size. The source is read twice: first it is counted
// and checked, so that what cannot be converted fails before anything is written. The calling
// thread reads and writes; the others decode and encode.
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
  std::optional<int> shards;  // nothing: one per 256 MiB, but at least 4; of images none
  int threads = 0;            // 0: as many as there are cores
};

struct ConvertProgress {
  int64_t done = 0;
  int64_t images = 0;  // 0: they are being counted
};
// On the caller's thread, after each few images. False stops: the same call goes on from there.
using OnConvertProgress = std::function<bool(const ConvertProgress&)>;

// As Generate() treats its folder. If it was stopped or killed before, it goes on behind the last
// complete file; if the source has changed since, it begins again. kUsage: the folder is the
// source's, lies in it, or holds it; the format cannot hold these images. kInput: a source is
// missing. kRun: damage, which the error places.
Result<Manifest> Convert(const ConvertOptions& options, const OnConvertProgress& on_progress = {});

}  // namespace stallscope::data
