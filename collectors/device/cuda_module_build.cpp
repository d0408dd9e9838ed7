// Program and module each have one of these: compiled in another build it says something else.
#include "collectors/device/cuda_module.h"

namespace stallscope::device {

// Raised where what the two exchange changes within a version.
const char* const kCudaModuleBuild = "stallscope " STALLSCOPE_VERSION ", interface 3";

}  // namespace stallscope::device
