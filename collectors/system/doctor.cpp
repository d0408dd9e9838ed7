#include "collectors/system/doctor.h"

#include <fmt/core.h>

#include <set>
#include <string_view>
#include <utility>

#include "collectors/system/doctor_checks.h"
#include "collectors/system/sources.h"

namespace stallscope::system {
namespace {

// Keeps which counters there are, not what they say.
class NameSink : public CounterSink {
 public:
  CounterId Define(const std::string& name, const std::string&) override {
    if (const CounterRow* row = FindCounter(name)) rows_.insert(row->name);
    return CounterId{next_++};
  }
  void Put(CounterId, double) override {}
  const std::set<std::string>& rows() const { return rows_; }

 private:
  std::set<std::string> rows_;
  uint32_t next_ = 0;
};

const char* AdviceFor(std::string_view source) {
  if (source == "pressure") return "boot a kernel with CONFIG_PSI and psi=1";
  if (source == "threads") return "take a kernel with CONFIG_SCHED_INFO, and mount the whole /proc";
  if (source == "io") return "take a kernel with CONFIG_TASK_IO_ACCOUNTING";
  if (source == "cgroup") return "mount the control groups under /sys/fs/cgroup";
  if (source == "gpu") return "install NVIDIA's driver, or pass the device into the container";
  if (source == "disks") return "nothing, where the data come over a network or from memory";
  if (source == "limits") return "mount /proc and /sys";
  return "mount /proc";
}

Check CheckSource(const Source& source, size_t present) {
  Check check{"counters: " + source.name(), CheckState::kOk, "", ""};
  const auto& absences = source.absences();
  const size_t known = present + absences.size();
  if (present == 0) {
    check.state = CheckState::kMissing;
    check.detail = absences.empty() ? "nothing to be read" : absences.front().reason;
    check.advice = AdviceFor(source.name());
  } else if (absences.empty()) {
    check.detail = fmt::format("{} kinds", known);
  } else {
    check.detail = fmt::format("{} of {} kinds; no {}: {}", present, known,
                               absences.front().counter, absences.front().reason);
  }
  return check;
}

CounterState StateOf(const CounterRow& row, const std::set<std::string>& present,
                     const std::vector<Absence>& absences) {
  CounterState state{row, present.contains(row.name), ""};
  // The sampler's own thread writes this one; it can always be read.
  if (std::string_view(row.name) == counter::kSamplerCpu.name) state.present = true;
  if (state.present) return state;
  state.reason = "nothing to be read";
  for (const Absence& absence : absences) {
    if (absence.counter == row.name) state.reason = absence.reason;
  }
  return state;
}

}  // namespace

const char* CheckStateName(CheckState state) {
  switch (state) {
    case CheckState::kOk:
      return "ok";
    case CheckState::kMissing:
      return "missing";
    case CheckState::kLimited:
      return "limited";
  }
  return "";
}

Diagnosis Diagnose(const DoctorOptions& options) {
  Diagnosis diagnosis;
  diagnosis.checks.push_back(CheckClock(options.root));
  for (Check& check : CheckLimits(options.root)) diagnosis.checks.push_back(std::move(check));
  diagnosis.checks.push_back(CheckDiskSpace(options.folder));
  diagnosis.checks.push_back(CheckGpuDriver(options.nvml_library));
  diagnosis.checks.push_back(CheckCudaModule(options.cuda_module));

  auto sources = MakeKernelSources(options.root);
  sources.push_back(MakeGpus(options.nvml_library));
  std::set<std::string> present;
  std::vector<Absence> absences;
  for (const auto& source : sources) {
    NameSink sink;
    source->Read(sink, Effort::kComplete);
    diagnosis.checks.push_back(CheckSource(*source, sink.rows().size()));
    present.insert(sink.rows().begin(), sink.rows().end());
    absences.insert(absences.end(), source->absences().begin(), source->absences().end());
  }
  for (const CounterRow& row : CounterTable()) {
    diagnosis.counters.push_back(StateOf(row, present, absences));
  }
  return diagnosis;
}

}  // namespace stallscope::system
