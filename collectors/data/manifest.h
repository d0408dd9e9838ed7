// manifest.json: what `generate` or `convert` wrote into a folder.
//
//   {"schema": "stallscope.dataset/1", "format": "tfrecord", "images": 1000, "size": "500x375",
//    "classes": 10, "seed": 1, "shards": 4, "quality": 90, "fingerprint": "<XXH3-128>",
//    "files": [{"name": "data-00000-of-00004.tfrecord", "bytes": 1, "records": 250,
//               "xxh3_128": "..."}]}
//
// Of texts, images counts them, size is "0x0", and quality 0. In a converted set, seed and quality
// are 0, size is "0x0" if the images differ in size, and "class_names" lists the names of the
// classes, if known, in the order of their labels. The fingerprint is the XXH3-128 of the lines
// "<name> <xxh3_128>\n" of all files in order. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/result.h"

namespace stallscope::data {

// `generate --format` takes all except raw.
enum class DataFormat : uint8_t { kTfRecord, kImages, kCsv, kHdf5, kRaw };
std::string_view Name(DataFormat format);  // as --format takes it
std::optional<DataFormat> DataFormatNamed(std::string_view name);

struct ManifestFile {
  std::string name;  // relative to the folder
  uint64_t bytes = 0;
  uint64_t records = 0;
  std::string hash;  // XXH3-128, 32 hexadecimal digits
};

struct Manifest {
  DataFormat format = DataFormat::kTfRecord;
  int64_t images = 0;
  int width = 0;
  int height = 0;
  int classes = 0;
  uint64_t seed = 0;
  int shards = 0;
  int quality = 0;
  std::string fingerprint;
  std::vector<ManifestFile> files;
  std::vector<std::string> class_names;  // by label; empty: only the numbers are known
};

inline constexpr std::string_view kManifestFile = "manifest.json";

Status WriteManifest(const std::string& folder, const Manifest& manifest);
Result<Manifest> ReadManifest(const std::string& folder);

// Fills in the size and the hash of every file, as it is in the folder, and the fingerprint.
Status MeasureFiles(const std::string& folder, Manifest& manifest);

}  // namespace stallscope::data
