// Where a library of the CUDA toolkit is looked for. Any thread.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_CUDA_LIBRARY_PLACES_H_
#define STALLSCOPE_COLLECTORS_DEVICE_CUDA_LIBRARY_PLACES_H_

#include <string>
#include <vector>

namespace stallscope::device::cuda {

// Of "libcupti.so.13": where the loader looks, then below $CUDA_HOME and in the toolkit's usual
// folders, which most installations do not tell the loader.
std::vector<std::string> LibraryPlaces(const std::string& file);

}  // namespace stallscope::device::cuda

#endif  // STALLSCOPE_COLLECTORS_DEVICE_CUDA_LIBRARY_PLACES_H_
