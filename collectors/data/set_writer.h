// Inside this room: the files of a data set, written in order.
//
// An image belongs to its shard, or is a file of its own. A file gets its final name once it is
// complete, so a writer for a folder in which another one stopped continues after the existing
// files. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/result.h"
#include "collectors/data/buffer.h"
#include "collectors/data/manifest.h"
#include "collectors/data/tensor.h"

namespace stallscope::data {

struct Sample {
  int64_t label = 0;
  Buffer bytes;      // the record, the file or the row; empty for hdf5 and raw
  Tensor pixels;     // for csv, hdf5 and raw
  std::string name;  // of its file below the set's folder; for images
};

struct SetLayout {
  std::string folder;  // exists
  DataFormat format = DataFormat::kTfRecord;
  int64_t images = 0;
  int shards = 0;  // unused for images
  // The shape of every image, for csv, hdf5 and raw.
  DType dtype = DType::kUint8;
  Shape shape;
  std::vector<std::string> class_folders;  // images
};

class SetWriter {
 public:
  virtual ~SetWriter() = default;
  // Whether a complete file already holds this image, so that it must not be written. `name` as in
  // Sample.
  virtual bool Has(int64_t image, const std::string& name) const = 0;
  virtual Status Write(int64_t image, const Sample& sample) = 0;
  // The files, without size and hash. After it nothing is open.
  virtual Result<std::vector<ManifestFile>> Finish() = 0;
};

Result<std::unique_ptr<SetWriter>> MakeSetWriter(SetLayout layout);

// "class_0003": with as many digits as the number of classes needs, so that byte order is label
// order.
std::string ClassFolder(int label, int classes);

// Whether a folder or a file of a set can have this name.
bool IsClassFolder(std::string_view name);
bool IsFileOfSet(std::string_view name);

}  // namespace stallscope::data
