// Control groups of version 1, 2 or both at once: where this process is in the tree, which limit of
// CPU and memory is the tightest between its group and the root, and the counters of the groups.
//
// The place in the tree is read once, because a process seldom changes its group. Pure functions of
// the files below `root`; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "collectors/system/source.h"

namespace stallscope::system {

// The group of one controller. Both folders carry the root in front, so that they can be opened.
struct CgroupFolder {
  int version = 0;  // 1 or 2; 0 where there is none
  std::string top;  // where the tree is mounted: as far up as is visible from here
  std::string own;  // the process's group
};

struct Cgroup {
  CgroupFolder cpu;
  CgroupFolder cpuacct;  // of version 1; cpu again with version 2
  CgroupFolder memory;
  std::string unified;  // the process's group of version 2, whatever it controls; may be empty
};
Cgroup LocateCgroup(const std::string& root);

// A limit and the group that sets it.
struct CpuQuota {
  double cores = 0;
  std::string folder;
};
std::optional<CpuQuota> TightestCpuQuota(const Cgroup& cgroup);

struct MemoryLimit {
  uint64_t bytes = 0;
  std::string folder;
};
std::optional<MemoryLimit> TightestMemoryLimit(const Cgroup& cgroup);

// Throttling, memory and kills.
std::unique_ptr<Source> MakeCgroup(const std::string& root);

}  // namespace stallscope::system
