// The sources, one a file. `root` is what "/proc" and "/sys" lie below: "/", or a tree that a test
// made. How often each is read by default follows from what it costs and how fast it moves.
#ifndef STALLSCOPE_COLLECTORS_SYSTEM_SOURCES_H_
#define STALLSCOPE_COLLECTORS_SYSTEM_SOURCES_H_

#include <memory>
#include <string>
#include <vector>

#include "collectors/system/source.h"

namespace stallscope::system {

// CPU, faults and context switches of this process. Not below a root: getrusage() costs 1.5 us for
// all of it, has microseconds instead of the 10 ms ticks of /proc/self/stat, and counts the
// switches of all threads, dead ones too, where /proc/self/status knows one.
std::unique_ptr<Source> MakeProcess();

// Time on a core and time without one, of each thread, from /proc/self/task/*/schedstat. A bounded
// reading goes on where the last one stopped, so that thousands of threads cost no more than a few.
std::unique_ptr<Source> MakeThreads(const std::string& root);

// /proc/stat: the machine and each of its cores.
std::unique_ptr<Source> MakeCores(const std::string& root);

// /proc/self/statm; and what needs no fast reading: peak, swap, the machine's free memory.
std::unique_ptr<Source> MakeMemory(const std::string& root);
std::unique_ptr<Source> MakeMemoryState(const std::string& root);

// /proc/self/io: bytes asked for against bytes from the disk.
std::unique_ptr<Source> MakeIo(const std::string& root);

// /proc/diskstats: the block devices that have moved any data; no partitions, loops and RAM disks.
std::unique_ptr<Source> MakeDisks(const std::string& root);

// /proc/pressure, and the pressure files of the own cgroup (v2).
std::unique_ptr<Source> MakePressure(const std::string& root);

// Throttling, memory and kills of the cgroup (v1 and v2); and the limits, which seldom change.
std::unique_ptr<Source> MakeCgroup(const std::string& root);
std::unique_ptr<Source> MakeLimits(const std::string& root);

// Everything above.
std::vector<std::unique_ptr<Source>> MakeKernelSources(const std::string& root);

// NVIDIA's devices, through `library` (libnvidia-ml.so.1 or a path), loaded here and now. The
// number in gpu<n> is NVML's, which counts in PCI order and knows nothing of CUDA_VISIBLE_DEVICES.
// A reading may block for 20 ms: that is how long NVML measures a PCIe rate. Give it a thread.
std::unique_ptr<Source> MakeGpus(const std::string& library);

}  // namespace stallscope::system

#endif  // STALLSCOPE_COLLECTORS_SYSTEM_SOURCES_H_
