// Elements out of one file, or made up.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/spec/spec.h"
#include "collectors/data/byte_source.h"
#include "collectors/data/file_set.h"
#include "collectors/pipeline/stage.h"

namespace stallscope::pipeline {

// One thread at a time, not always the same.
class Reader {
 public:
  virtual ~Reader() = default;
  // The next element's content, label, record and offset; nothing at the end. After an error,
  // can_continue() says whether another call continues after it; `lost` is what it cost.
  virtual Result<bool> Next(Element& element) = 0;
  virtual bool can_continue() const { return true; }
  virtual uint64_t lost_bytes() const { return 0; }
};

// What a source reads: its files, or one that is none.
struct SourceFiles {
  std::vector<std::shared_ptr<const std::string>> paths;
  std::vector<int64_t> labels;       // of images, by their folders
  std::vector<std::string> classes;  // the folders' names
  std::string fingerprint;           // of names, sizes and times; empty for what is made up
};
Result<SourceFiles> FindFiles(const SourceSpec& spec);
// Of each source of the spec.
Result<std::vector<SourceFiles>> FindFiles(const Spec& spec);
// A single source's own.
std::string FingerprintOf(const std::vector<SourceFiles>& sources);

// What the source's readers share.
struct ReaderShared {
  SourceSpec spec;
  SourceFiles files;
  uint32_t first_file = 0;  // the number of its first file among those of all sources
  StageContext* context = nullptr;
  std::shared_ptr<data::TokenBucket> throttle;  // may be null
};

// The reader of file `index`.
Result<std::unique_ptr<Reader>> OpenReader(const ReaderShared& shared, size_t index);

}  // namespace stallscope::pipeline
