// The kernel's counters as sources. `root` is the folder above /proc and /sys: "/", or a tree that
// a test made. Each source's period follows from what a reading costs and how fast the counters
// move.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "collectors/system/source.h"

namespace stallscope::system {

// CPU, faults and context switches of this process. Not below a root: getrusage() costs 1.5 us for
// all of it, has microseconds instead of the 10 ms ticks of /proc/self/stat, and counts the
// switches of all threads, dead ones too, where /proc/self/status knows one.
std::unique_ptr<Source> MakeProcess();

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

// All of these, with the threads and the control groups.
std::vector<std::unique_ptr<Source>> MakeKernelSources(const std::string& root);
// Those of the machine and the control groups, which are other processes' too.
std::vector<std::unique_ptr<Source>> MakeMachineSources(const std::string& root);

}  // namespace stallscope::system
