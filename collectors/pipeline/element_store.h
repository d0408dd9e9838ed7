// Where a cache or a snapshot keeps elements.
//
// First everything is added, then Seal() is called, then it is read any number of times. One thread
// at a time.
#ifndef STALLSCOPE_COLLECTORS_PIPELINE_ELEMENT_STORE_H_
#define STALLSCOPE_COLLECTORS_PIPELINE_ELEMENT_STORE_H_

#include <memory>
#include <string>

#include "collectors/pipeline/stage.h"

namespace stallscope::pipeline {

class ElementStore {
 public:
  virtual ~ElementStore() = default;
  virtual Status Add(const Element& element) = 0;
  // Everything has been added: it can be read, by later runs too where it lies in a file.
  virtual Status Seal() = 0;
  virtual bool sealed() const = 0;
  // From the first element on again.
  virtual Status Rewind() = 0;
  virtual Result<std::optional<Element>> Next() = 0;
  virtual uint64_t bytes() const = 0;
};

std::unique_ptr<ElementStore> MakeMemoryStore(StageContext& context);

// In the file `path`, whose elements are worth something to a run with the same `key` only. A file
// of that key which was sealed is read at once; another one is written anew. Until it is sealed it
// has another name. With an empty path the file is a scratch file that nobody else sees.
Result<std::unique_ptr<ElementStore>> MakeFileStore(const std::string& path, const std::string& key,
                                                    StageContext& context);
// Whether MakeFileStore would find a sealed file of that key.
bool FileStoreIsSealed(const std::string& path, const std::string& key);

}  // namespace stallscope::pipeline

#endif  // STALLSCOPE_COLLECTORS_PIPELINE_ELEMENT_STORE_H_
