#include <fmt/core.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>

#include "analyzer/base/clock.h"
#include "collectors/system/doctor_checks.h"
#include "collectors/system/nvml.h"
#include "collectors/system/proc_file.h"
#include "collectors/system/text_scan.h"

namespace stallscope::system {
namespace {

// The shortest of some tries, because the others were interrupted.
double StampNs() {
  constexpr int kTries = 8;
  constexpr int kStamps = 4096;
  int64_t shortest = std::numeric_limits<int64_t>::max();
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const int64_t before = MonotonicNs();
    Ticks sum = 0;
    for (int i = 0; i < kStamps; ++i) sum += NowTicks();
    const int64_t elapsed = MonotonicNs() - before;
    if (sum != 0) shortest = std::min(shortest, elapsed);  // and the loop stays
  }
  return static_cast<double>(shortest) / kStamps;
}

// A kernel that has found the time-stamp counter unstable takes one of the slow clocks.
bool KernelDistrustsTsc(const std::string& root) {
  const std::string folder = Below(root, "/sys/devices/system/clocksource/clocksource0");
  const std::string offered = ReadOnce(folder + "/available_clocksource").value_or("tsc");
  const std::string taken = ReadOnce(folder + "/current_clocksource").value_or("");
  std::string_view rest = offered;
  while (const auto word = TakeWord(rest)) {
    if (*word == "tsc") return false;
  }
  return taken.starts_with("hpet") || taken.starts_with("acpi_pm") || taken.starts_with("jiffies");
}

}  // namespace

std::string SizeInWords(uint64_t bytes) {
  const char* const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  auto value = static_cast<double>(bytes);
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return fmt::format("{:.{}f} {}", value, unit == 0 || value >= 100 ? 0 : 1, units[unit]);
}

Check CheckClock(const std::string& root) {
  const double cost = StampNs();
  if (!TicksAreTsc()) {
    Check check{"clock", CheckState::kLimited,
                fmt::format("CLOCK_MONOTONIC, {:.0f} ns a stamp: a span costs two", cost), ""};
    check.advice =
        std::getenv("STALLSCOPE_CLOCK") != nullptr
            ? "unset STALLSCOPE_CLOCK to use the time-stamp counter"
            : "this CPU shows no invariant time-stamp counter: record fewer, longer spans";
    return check;
  }
  if (KernelDistrustsTsc(root)) {
    return {"clock", CheckState::kLimited,
            fmt::format("time-stamp counter, {:.0f} ns a stamp, but the kernel does not trust it",
                        cost),
            "set STALLSCOPE_CLOCK=monotonic"};
  }
  return {"clock", CheckState::kOk,
          fmt::format("invariant time-stamp counter, {:.0f} ns a stamp", cost), ""};
}

Check CheckDiskSpace(const std::string& folder) {
  constexpr uint64_t kLittle = uint64_t{1} << 30;  // a minute of 600,000 spans a second is 0.3 GB
  struct statvfs about;
  if (statvfs(folder.c_str(), &about) != 0) {
    return {"disk space", CheckState::kMissing, folder + ": " + std::strerror(errno),
            "go to a folder that exists"};
  }
  const uint64_t free = static_cast<uint64_t>(about.f_bavail) * about.f_frsize;
  Check check{"disk space", CheckState::kOk, SizeInWords(free) + " free in this folder", ""};
  if (free < kLittle) {
    check.state = CheckState::kLimited;
    check.advice = "free some, or record to another disk with -o";
  }
  return check;
}

Check CheckGpuDriver(const std::string& nvml_library) {
  auto nvml = Nvml::Load(nvml_library);
  if (!nvml.ok()) {
    return {"gpu driver", CheckState::kMissing, nvml.error().what, nvml.error().hint};
  }
  const Nvml& loaded = *nvml.value();
  if (loaded.count() == 0) {
    return {"gpu driver", CheckState::kMissing,
            "NVIDIA driver " + loaded.DriverVersion() + ", no device",
            "pass a device into the container or machine"};
  }
  Check check{"gpu driver", CheckState::kOk, "NVIDIA driver " + loaded.DriverVersion(), ""};
  for (unsigned index = 0; index < loaded.count(); ++index) {
    const auto device = loaded.Open(index);
    check.detail += fmt::format(
        ", gpu{}: {}", index,
        device.ok() ? loaded.Name(device.value()) : "not usable, " + device.error().what);
  }
  return check;
}

Check CheckCudaModule(const std::string& cuda_module) {
  if (cuda_module.empty()) {
    return {"cuda module", CheckState::kMissing, "no CUDA module in this build",
            "build where the CUDA toolkit is installed; host and emulated devices work without"};
  }
  if (access(cuda_module.c_str(), R_OK) != 0) {
    return {"cuda module", CheckState::kMissing, cuda_module + ": " + std::strerror(errno),
            "install the module beside the program"};
  }
  return {"cuda module", CheckState::kOk, cuda_module, ""};
}

}  // namespace stallscope::system
