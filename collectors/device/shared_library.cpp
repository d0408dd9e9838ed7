#include "collectors/device/shared_library.h"

#include <dlfcn.h>

namespace stallscope::device {

Result<SharedLibrary> SharedLibrary::Open(const std::vector<std::string>& names) {
  std::string why;
  for (const std::string& name : names) {
    void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle != nullptr) return SharedLibrary(handle, name);
    const char* const said = dlerror();
    if (why.empty()) why = said != nullptr ? said : "cannot load the library";
  }
  return Error{ErrorKind::kRun, why, names.empty() ? "" : names.front(), ""};
}

void* SharedLibrary::Find(const char* symbol) const { return dlsym(handle_, symbol); }

}  // namespace stallscope::device
