#include "collectors/device/host_blas.h"

#include <cblas.h>
#include <sched.h>
#include <sys/mman.h>

#include <array>
#include <string>
#include <utility>

#include "collectors/device/shared_library.h"

namespace stallscope::device {
namespace {

constexpr size_t kLoaded = size_t{48} << 20;    // its code and tables; 40 MB of 0.3.21
constexpr size_t kScratch = size_t{136} << 20;  // a block of 128 MiB, and some room

// The library itself retries forever.
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

// While it lives, a library that the calling thread starts sees one core, and takes no threads of
// its own; if one of its threads cannot be started, it interrupts the program. The environment says
// the same, but to write there while another thread reads it is a race, and a child would inherit
// it. Where the kernel refuses, the threads that come are at least given nothing to do.
class OnOneCore {
 public:
  OnOneCore() {
    if (sched_getaffinity(0, sizeof all_, all_.data()) != 0) return;
    Cores one{};
    for (size_t core = 0; core < kMostCores; ++core) {
      if (!CPU_ISSET_S(core, sizeof all_, all_.data())) continue;
      CPU_SET_S(core, sizeof one, one.data());
      limited_ = sched_setaffinity(0, sizeof one, one.data()) == 0;
      return;
    }
  }
  ~OnOneCore() {
    if (limited_) sched_setaffinity(0, sizeof all_, all_.data());
  }
  OnOneCore(const OnOneCore&) = delete;
  OnOneCore& operator=(const OnOneCore&) = delete;

 private:
  static constexpr size_t kMostCores = 8192;  // that Linux is built for
  using Cores = std::array<cpu_set_t, kMostCores / CPU_SETSIZE>;
  Cores all_{};
  bool limited_ = false;
};

Result<SharedLibrary> OpenOnOneCore(const std::vector<std::string>& names) {
  const OnOneCore one;
  return SharedLibrary::Open(names);
}

}  // namespace

struct HostBlas::Functions {
  decltype(&cblas_sgemm) sgemm = nullptr;
};

HostBlas::HostBlas() : functions_(std::make_unique<Functions>()) {}
HostBlas::~HostBlas() = default;

Result<std::unique_ptr<HostBlas>> HostBlas::LoadFrom(const std::vector<std::string>& names) {
  if (!CanMap(kLoaded)) return NoMemory(kLoaded);
  auto library = OpenOnOneCore(names);
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
