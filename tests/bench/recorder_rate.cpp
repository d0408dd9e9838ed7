// Writes spans at a given rate and prints what was lost: recorder_rate RATE SECONDS RING_SLOTS, and
// for callgrind: recorder_rate --count N [--none] writes N spans (or none of them) and ends.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "collectors/recorder/recorder.h"

namespace {

using namespace stallscope;            // NOLINT(google-build-using-namespace)
using namespace stallscope::recorder;  // NOLINT(google-build-using-namespace)

long ThreadFaults() {
  rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

std::unique_ptr<Recorder> Start(const std::string& path, size_t slots) {
  Options options;
  options.ring_slots = slots;
  auto started = Recorder::Start(path, {}, options);
  if (!started.ok()) {
    std::fprintf(stderr, "%s\n", started.error().Line().c_str());
    std::exit(5);
  }
  return std::move(started).value();
}

// The function that callgrind measures.
[[gnu::noinline]] void EmitSpans(uint64_t spans, bool none) {
  for (uint64_t i = 0; i < spans; ++i) {
    if (!none) SpanScope span(StageId{3}, ItemId{i});
    asm volatile("" ::: "memory");
  }
}

int Count(const std::string& path, uint64_t spans, bool none) {
  auto recorder = Start(path, size_t{1} << 18);
  {
    ThreadScope thread(recorder.get(), "rate");
    EmitSpans(spans, none);
  }
  recorder->Stop();
  unlink(path.c_str());
  return 0;
}

int Rate(const std::string& path, double rate, double seconds, size_t slots) {
  auto recorder = Start(path, slots);
  uint64_t written = 0;
  long faults = 0;
  int64_t elapsed = 0;
  {
    ThreadScope thread(recorder.get(), "rate");
    const int64_t start = MonotonicNs();
    const int64_t end = start + static_cast<int64_t>(seconds * 1e9);
    const long before = ThreadFaults();
    for (int64_t now = start; now < end; now = MonotonicNs()) {
      const auto due = static_cast<uint64_t>(static_cast<double>(now - start) * rate / 1e9);
      for (; written < due; ++written) SpanScope span(StageId{3}, ItemId{written});
    }
    faults = ThreadFaults() - before;
    elapsed = MonotonicNs() - start;
  }
  const Summary summary = recorder->Stop();
  std::printf("spans %llu rate_M %.2f dropped %llu faults %ld bytes_per_span %.2f ring_MiB %.1f\n",
              static_cast<unsigned long long>(written),
              static_cast<double>(written) * 1e3 / static_cast<double>(elapsed),
              static_cast<unsigned long long>(summary.dropped), faults,
              static_cast<double>(summary.bytes) / static_cast<double>(written),
              static_cast<double>(slots * 24) / 1048576.0);
  unlink(path.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string path = "/tmp/stallscope_rate." + std::to_string(getpid()) + ".sst";
  if (argc >= 3 && std::strcmp(argv[1], "--count") == 0) {
    return Count(path, std::strtoull(argv[2], nullptr, 10), argc > 3);
  }
  if (argc != 4) {
    std::fprintf(stderr, "usage: recorder_rate RATE SECONDS RING_SLOTS | --count N [--none]\n");
    return 2;
  }
  return Rate(path, std::atof(argv[1]), std::atof(argv[2]), std::strtoull(argv[3], nullptr, 10));
}
