// A library that is loaded on demand, so that it costs nothing when the program starts. It stays
// loaded, because it may have threads of its own. Any thread.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "analyzer/base/result.h"

namespace stallscope::device {

class SharedLibrary {
 public:
  // The first of `names` that can be loaded; the error is the loader's for the first.
  static Result<SharedLibrary> Open(const std::vector<std::string>& names);

  const std::string& name() const { return name_; }
  // False, and null, if the library has no such symbol.
  template <class Function>
  bool Bind(Function*& into, const char* symbol) const {
    void* const found = Find(symbol);
    static_assert(sizeof found == sizeof into);
    std::memcpy(&into, &found, sizeof found);  // ISO C++ has no cast from object to function
    return found != nullptr;
  }

 private:
  SharedLibrary(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
  void* Find(const char* symbol) const;

  void* handle_;
  std::string name_;
};

}  // namespace stallscope::device
