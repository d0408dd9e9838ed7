// The single checks behind Diagnose(), by what they look at. Inside this room only.
#ifndef STALLSCOPE_COLLECTORS_SYSTEM_DOCTOR_CHECKS_H_
#define STALLSCOPE_COLLECTORS_SYSTEM_DOCTOR_CHECKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "collectors/system/doctor.h"

namespace stallscope::system {

// "1.5 GiB"
std::string SizeInWords(uint64_t bytes);

Check CheckClock(const std::string& root);
Check CheckDiskSpace(const std::string& folder);
Check CheckGpuDriver(const std::string& nvml_library);
Check CheckCudaModule(const std::string& cuda_module);

// CPU quota, affinity, memory limit, huge pages, governor, steal, swap.
std::vector<Check> CheckLimits(const std::string& root);

}  // namespace stallscope::system

#endif  // STALLSCOPE_COLLECTORS_SYSTEM_DOCTOR_CHECKS_H_
