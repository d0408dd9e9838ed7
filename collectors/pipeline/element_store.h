// Where a cache or a snapshot keeps elements.
//
// First everything is added, then Seal() is called, then it is read any number of times. One thread
// at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "collectors/pipeline/stage.h"

namespace stallscope::pipeline {

class ElementStore {
 public:
  virtual ~ElementStore() = default;
  virtual Status Add(const Element& element) = 0;
  // Everything has been added: it can be read, by later runs too if it is a file.
  virtual Status Seal() = 0;
  virtual bool sealed() const = 0;
  // From the first element on again.
  virtual Status Rewind() = 0;
  virtual Result<std::optional<Element>> Next() = 0;
  virtual uint64_t bytes() const = 0;
};

std::unique_ptr<ElementStore> MakeMemoryStore(StageContext& context);

// A new store in a file that is useful only to runs with the same `key`. It has no name until it is
// sealed; then it replaces an older store of ours, whose mode and owner it keeps. Runs that fill
// one path at once do not disturb each other: each reads the file that it has written, whatever
// becomes of the name, and the one that is sealed last keeps the name. A lock that refuses the
// second run was rejected: it would fail a run whose result is the same. With an empty path the
// file is in a scratch folder that is removed with the store.
struct StoreFile {
  std::string path;
  std::string key;
  std::string field;  // of the spec, that names the path: for errors
};
// kUsage if the path exists and is not one of our stores: it is left as it is.
Result<std::unique_ptr<ElementStore>> MakeFileStore(const StoreFile& file, StageContext& context);
// The store that was sealed in the file with that key; null where there is none. Writes nothing.
std::unique_ptr<ElementStore> OpenSealedStore(const std::string& path, const std::string& key,
                                              StageContext& context);

}  // namespace stallscope::pipeline
