#include "collectors/system/sources.h"

namespace stallscope::system {

std::vector<std::unique_ptr<Source>> MakeKernelSources(const std::string& root) {
  std::vector<std::unique_ptr<Source>> sources;
  sources.push_back(MakeProcess());
  sources.push_back(MakeMemory(root));
  sources.push_back(MakeIo(root));
  sources.push_back(MakeThreads(root));
  sources.push_back(MakeCgroup(root));
  sources.push_back(MakeCores(root));
  sources.push_back(MakePressure(root));
  sources.push_back(MakeDisks(root));
  sources.push_back(MakeMemoryState(root));
  sources.push_back(MakeLimits(root));
  return sources;
}

}  // namespace stallscope::system
