// What may be read as a trace, a spec or data: a regular file or a pipe. A device never ends
// (/dev/zero), or does something when it is read; a folder and a socket hold no bytes.
#pragma once

#include <sys/stat.h>

namespace stallscope {

// "a device", by what fstat says; null where it may be read.
constexpr const char* WhyNotReadable(mode_t mode) {
  if (S_ISREG(mode) || S_ISFIFO(mode)) return nullptr;
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace stallscope
