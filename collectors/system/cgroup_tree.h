// Where this process stands in the tree of control groups, of version 1, 2 or both at once, and
// which limit of CPU and memory is the tightest on the way from its group up to the root.
//
// Read once: a process seldom changes its group. Pure functions of the files below `root`; any
// thread.
#ifndef STALLSCOPE_COLLECTORS_SYSTEM_CGROUP_TREE_H_
#define STALLSCOPE_COLLECTORS_SYSTEM_CGROUP_TREE_H_

#include <cstdint>
#include <optional>
#include <string>

namespace stallscope::system {

// The group of one controller. Both folders carry the root in front, so that they can be opened.
struct CgroupFolder {
  int version = 0;  // 1 or 2; 0 where there is none
  std::string top;  // where the tree is mounted: as far up as can be seen from here
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

}  // namespace stallscope::system

#endif  // STALLSCOPE_COLLECTORS_SYSTEM_CGROUP_TREE_H_
