#include "collectors/device/cuda/library_places.h"

#include <cstdlib>

namespace stallscope::device::cuda {

std::vector<std::string> LibraryPlaces(const std::string& file) {
  std::vector<std::string> roots;
  if (const char* home = std::getenv("CUDA_HOME"); home != nullptr && *home != 0) {
    roots.emplace_back(home);
  }
  roots.emplace_back("/usr/local/cuda");
  std::vector<std::string> places = {file};
  for (const std::string& root : roots) {
    for (const char* folder : {"/lib64/", "/targets/x86_64-linux/lib/", "/extras/CUPTI/lib64/"}) {
      places.push_back(root + folder + file);
    }
  }
  return places;
}

}  // namespace stallscope::device::cuda
