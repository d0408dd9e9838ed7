// What this process has used so far.
#pragma once

#include <sys/resource.h>

namespace stallscope {

inline rusage ProcessUsage() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

// In the program and in the kernel on its behalf.
inline double CpuSeconds() {
  const rusage usage = ProcessUsage();
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

inline double PeakMib() { return static_cast<double>(ProcessUsage().ru_maxrss) / 1024; }

}  // namespace stallscope
