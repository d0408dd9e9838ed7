// Inside this room: reads the items of a data set in any format, one after another, as stored.
//
// Items keep the order of the files and of their records; images come in a fixed random order, so
// that neighbors have different classes. Reading does not decode: that is work for several threads.
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "collectors/data/buffer.h"
#include "collectors/data/file_set.h"
#include "collectors/data/tensor.h"

namespace stallscope::data {

struct SourceSet {
  FileKind kind = FileKind::kTfRecord;  // of all files; kJpeg: images, including PNG
  std::vector<std::string> files;
  std::vector<int64_t> labels;           // of images, by their folders
  std::vector<std::string> class_names;  // by label; empty: not known
  uint64_t bytes = 0;
  // A hash of the files' names, sizes and times: another one means another data set.
  std::string fingerprint;
};

// `names` are files, patterns, folders of images, and folders that hold a data set. kInput: a name
// matches nothing, or the files are not all of one kind, or are no data set.
Result<SourceSet> FindSourceSet(const std::vector<std::string>& names);

struct SourceItem {
  FileKind kind = FileKind::kTfRecord;
  int64_t label = 0;       // known for images, hdf5 and raw; else in the bytes
  Buffer bytes;            // the record, the row or the image's file
  Tensor pixels;           // of hdf5 and raw
  std::string class_name;  // of an image
  std::string file_name;   // of an image, without its folder
  std::string place;       // for errors: "train.csv, offset 12, record 3"
};

// Calls `take` for each item; it returns whether to continue, and may swap the item's memory away.
// Damage is an error that names the place.
Status ForEachItem(const SourceSet& set, const std::function<Result<bool>(SourceItem&)>& take);

}  // namespace stallscope::data
