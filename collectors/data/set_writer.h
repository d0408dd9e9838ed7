// Inside this room: puts the generator's samples into files, in order.
#ifndef STALLSCOPE_COLLECTORS_DATA_SET_WRITER_H_
#define STALLSCOPE_COLLECTORS_DATA_SET_WRITER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/result.h"
#include "collectors/data/generate.h"
#include "collectors/data/sample_render.h"

namespace stallscope::data {

class SetWriter {
 public:
  virtual ~SetWriter() = default;
  virtual Status Write(int64_t image, const Sample& sample) = 0;
  // The files, without size and hash. After it nothing is open.
  virtual Result<std::vector<ManifestFile>> Finish() = 0;
};

// `options` must outlive it; its folder exists.
std::unique_ptr<SetWriter> MakeSetWriter(const GenerateOptions& options);

// "class_0003": with as many digits as all classes need, so that the order of bytes is that of
// the labels.
std::string ClassFolder(int label, int classes);

// Whether a folder or a file of a set can be called that.
bool IsClassFolder(std::string_view name);
bool IsFileOfSet(std::string_view name);

}  // namespace stallscope::data

#endif  // STALLSCOPE_COLLECTORS_DATA_SET_WRITER_H_
