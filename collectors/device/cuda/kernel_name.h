// What a kernel is called in a trace. Any thread.
#ifndef STALLSCOPE_COLLECTORS_DEVICE_CUDA_KERNEL_NAME_H_
#define STALLSCOPE_COLLECTORS_DEVICE_CUDA_KERNEL_NAME_H_

#include <string>

namespace stallscope::device::cuda {

// Of a mangled name: for our own kernels that of the launch ("add_bias"), whatever they are made
// of; for those of libraries the demangled one without its arguments.
std::string KernelName(const char* mangled);

}  // namespace stallscope::device::cuda

#endif  // STALLSCOPE_COLLECTORS_DEVICE_CUDA_KERNEL_NAME_H_
