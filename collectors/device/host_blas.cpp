#include "collectors/device/host_blas.h"

#include <cblas.h>
#include <sys/mman.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "collectors/device/shared_library.h"

namespace stallscope::device {
namespace {

constexpr const char* kThreads = "OPENBLAS_NUM_THREADS";
constexpr size_t kLoaded = size_t{48} << 20;    // its code and tables; 40 MB of 0.3.21
constexpr size_t kScratch = size_t{136} << 20;  // a block of 128 MiB, and some room

// The library itself asks again and again, and never gives up.
bool CanMap(size_t bytes) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  munmap(memory, bytes);
  return true;
}

Error NoMemory(size_t bytes) {
  return Error{
      ErrorKind::kRun,
      "not enough memory for OpenBLAS, which needs " + std::to_string(bytes >> 20) + " MiB",
      "host device", "free some memory or raise its limit (ulimit -v), or train on another device"};
}

Error CannotLoad(const std::string& why) {
  return Error{ErrorKind::kRun, "OpenBLAS cannot be loaded: " + why, "host device",
               "install libopenblas0 (Debian, Ubuntu), or train on another device"};
}

// While it lives, a library that starts takes no threads of its own. It reads the environment and
// nothing else; if one of its threads cannot be started, it interrupts the program.
class NoThreadsOfItsOwn {
 public:
  NoThreadsOfItsOwn() {
    if (const char* const before = std::getenv(kThreads)) before_ = before;
    setenv(kThreads, "1", 1);
  }
  ~NoThreadsOfItsOwn() {
    if (before_.has_value()) {
      setenv(kThreads, before_->c_str(), 1);
    } else {
      unsetenv(kThreads);
    }
  }
  NoThreadsOfItsOwn(const NoThreadsOfItsOwn&) = delete;
  NoThreadsOfItsOwn& operator=(const NoThreadsOfItsOwn&) = delete;

 private:
  std::optional<std::string> before_;
};

}  // namespace

struct HostBlas::Functions {
  decltype(&cblas_sgemm) sgemm = nullptr;
};

HostBlas::HostBlas() : functions_(std::make_unique<Functions>()) {}
HostBlas::~HostBlas() = default;

Result<std::unique_ptr<HostBlas>> HostBlas::LoadFrom(const std::vector<std::string>& names) {
  if (!CanMap(kLoaded)) return NoMemory(kLoaded);
  const NoThreadsOfItsOwn alone;
  auto library = SharedLibrary::Open(names);
  if (!library.ok()) return CannotLoad(library.error().what);
  std::unique_ptr<HostBlas> blas(new HostBlas());
  decltype(&openblas_set_num_threads) set_threads = nullptr;
  decltype(&openblas_get_config) get_config = nullptr;
  if (!library.value().Bind(blas->functions_->sgemm, "cblas_sgemm") ||
      !library.value().Bind(set_threads, "openblas_set_num_threads") ||
      !library.value().Bind(get_config, "openblas_get_config")) {
    return CannotLoad(library.value().name() + " is another library of that name");
  }
  // Where the program that uses this has loaded it before, with threads. They spin while they wait
  // for the next product, on cores that the pipeline decodes on.
  set_threads(1);
  blas->version_ = get_config();
  return blas;
}

Result<HostBlas*> HostBlas::Load() {
  static std::mutex loading;
  static std::unique_ptr<HostBlas> loaded;
  const std::lock_guard lock(loading);
  if (loaded == nullptr) {
    STALLSCOPE_ASSIGN_OR_RETURN(loaded, LoadFrom({"libopenblas.so.0"}));
  }
  return loaded.get();
}

Status HostBlas::Multiply(const Product& product) {
  {
    const std::lock_guard lock(mutex_);
    if (running_ == most_running_) {
      if (!CanMap(kScratch)) return NoMemory(kScratch);
      ++most_running_;
    }
    ++running_;
  }
  const auto m = static_cast<blasint>(product.m);
  const auto n = static_cast<blasint>(product.n);
  const auto k = static_cast<blasint>(product.k);
  functions_->sgemm(CblasRowMajor, product.transpose_a ? CblasTrans : CblasNoTrans,
                    product.transpose_b ? CblasTrans : CblasNoTrans, m, n, k, product.alpha,
                    product.a, product.transpose_a ? m : k, product.b, product.transpose_b ? k : n,
                    product.beta, product.c, n);
  const std::lock_guard lock(mutex_);
  --running_;
  return {};
}

}  // namespace stallscope::device
