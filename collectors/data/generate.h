// Writes a data set of painted images: the same one in every format. Or one of texts, as TFRecords.
//
// Every picture is encoded as JPEG first. tfrecord and images hold those bytes; csv and hdf5 hold
// the pixels that they decode to, so a pipeline gets the same pixels from each. The same options
// give the same bytes, whatever the number of threads.
//
//   tfrecord  data-00000-of-00004.tfrecord ...: tf.train.Example with image/encoded,
//             image/class/label, image/height, image/width, image/format, as the ImageNet recipe
//   images    class_0003/img_00000017.jpg: a folder per class
//   csv, hdf5 data-00000-of-00004.csv (.h5): see csv_image.h and hdf5_images.h
//   all       manifest.json: see manifest.h. Nothing else.
//
// A text is words with spaces between them. Its class has words of its own, which are half of them;
// its length is a quarter to four times the number that is given, shorter ones more often.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "analyzer/base/result.h"
#include "collectors/data/manifest.h"

namespace stallscope::data {

struct GenerateOptions {
  std::string folder;
  DataFormat format = DataFormat::kTfRecord;
  int64_t images = 1000;
  int words = 0;  // of a text, about; 0: images
  int width = 500;
  int height = 375;
  int classes = 10;
  int shards = 4;  // at most one per image; an image folder has none
  uint64_t seed = 1;
  int quality = 90;
  int threads = 0;  // 0: as many as there are cores
};

struct GenerateProgress {
  int64_t done = 0;  // images
  int64_t images = 0;
};
// Called after each image, on the caller's thread. False stops: what was written is removed.
using OnProgress = std::function<bool(const GenerateProgress&)>;

// The set is written beside its folder and moved there when it is whole (set_place.h). The folder
// is created if needed. A data set of ours with nothing else in its folder is replaced, and stays
// if the new one fails or is stopped; a folder with other content is refused. After a kill, the
// next call for the same folder removes what was left beside it.
Result<Manifest> Generate(const GenerateOptions& options, const OnProgress& on_progress = {});

// The class of an image: every block of `classes` images holds each class once, in an order that
// the seed determines.
int LabelOf(uint64_t seed, int64_t image, int classes);

}  // namespace stallscope::data
