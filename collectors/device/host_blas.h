// OpenBLAS, loaded when the first host device is made: its start-up takes 40 MB, and a thread and
// 128 MiB for each core, which `stallscope --version` does not need. It gets no threads of its own;
// the calling thread computes. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "analyzer/base/result.h"

namespace stallscope::device {

// C = alpha * op(A) * op(B) + beta * C; all row-major, without gaps between rows.
struct Product {
  bool transpose_a = false;
  bool transpose_b = false;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  float alpha = 1;
  const float* a = nullptr;
  const float* b = nullptr;
  float beta = 0;
  float* c = nullptr;
};

class HostBlas {
 public:
  ~HostBlas();
  // The one of this process, loaded by the first call that can. kRun where it is not there, or
  // there is no memory for it.
  static Result<HostBlas*> Load();
  // The first of `names` that can be loaded; for Load() and for tests.
  static Result<std::unique_ptr<HostBlas>> LoadFrom(const std::vector<std::string>& names);

  // kRun if the library's scratch memory cannot be allocated: OpenBLAS would wait for it forever.
  Status Multiply(const Product& product);
  const std::string& version() const { return version_; }  // "OpenBLAS 0.3.21 ..."

 private:
  struct Functions;
  HostBlas();

  std::unique_ptr<Functions> functions_;
  std::string version_;
  // It has as many blocks of scratch memory as there were products at the same time.
  std::mutex mutex_;
  int running_ = 0;
  int most_running_ = 0;
};

}  // namespace stallscope::device
