#include <sys/resource.h>

#include "analyzer/base/units.h"
#include "collectors/system/sources.h"

namespace stallscope::system {
namespace {

double Ns(const timeval& time) {
  return static_cast<double>(int64_t{time.tv_sec} * kNsPerSecond +
                             int64_t{time.tv_usec} * kNsPerUs);
}

class Process : public Source {
 public:
  Process() : Source("process", 50 * kNsPerMs) {}

  void Read(CounterSink& sink, Effort) override {
    rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) {
      MissAll("getrusage() failed", user_.row(), system_.row(), minor_.row(), major_.row(),
              voluntary_.row(), involuntary_.row());
      return;
    }
    user_.Put(sink, Ns(usage.ru_utime));
    system_.Put(sink, Ns(usage.ru_stime));
    minor_.Put(sink, static_cast<double>(usage.ru_minflt));
    major_.Put(sink, static_cast<double>(usage.ru_majflt));
    voluntary_.Put(sink, static_cast<double>(usage.ru_nvcsw));
    involuntary_.Put(sink, static_cast<double>(usage.ru_nivcsw));
  }

 private:
  Counter user_{counter::kProcessCpuUser};
  Counter system_{counter::kProcessCpuSystem};
  Counter minor_{counter::kProcessFaultsMinor};
  Counter major_{counter::kProcessFaultsMajor};
  Counter voluntary_{counter::kProcessSwitchesVoluntary};
  Counter involuntary_{counter::kProcessSwitchesInvoluntary};
};

}  // namespace

std::unique_ptr<Source> MakeProcess() { return std::make_unique<Process>(); }

}  // namespace stallscope::system
