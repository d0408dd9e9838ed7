// What recording costs the demo's pipeline at full load: runs of one spec, recorded and not, in
// turn (A B B A ...), so that a drifting machine affects both sides equally.
//
//   capture_overhead SPEC.json TRACE PAIRS|recorded|plain [PATH=VALUE...]
//
// (with a word, one run of that kind: for counting its instructions)
//
// prints one line of JSON per run: whether it was recorded, its samples, seconds and CPU seconds.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "analyzer/base/clock.h"
#include "analyzer/spec/knobs.h"
#include "analyzer/spec/spec_json.h"
#include "collectors/capture/capture.h"
#include "tests/bench/usage.h"

namespace {

using namespace stallscope;

bool RunOnce(const Spec& spec, const std::string& trace) {
  capture::CaptureOptions options;
  options.output = trace;
  const double cpu = CpuSeconds();
  const int64_t start = MonotonicNs();
  const auto result = capture::Capture(spec, options);
  const double seconds = static_cast<double>(MonotonicNs() - start) * 1e-9;
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.error().Line().c_str());
    return false;
  }
  std::printf("{\"recorded\": %s, \"samples\": %llu, \"seconds\": %.6f, \"cpu_seconds\": %.6f}\n",
              trace.empty() ? "false" : "true",
              static_cast<unsigned long long>(result.value().training.last.samples), seconds,
              CpuSeconds() - cpu);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr,
                 "usage: capture_overhead SPEC.json TRACE PAIRS|recorded|plain "
                 "[PATH=VALUE...]\n");
    return 2;
  }
  auto spec = ReadSpecFile(argv[1]);
  if (spec.ok()) spec = ApplySettings(std::move(spec).value(), {argv + 4, argv + argc});
  if (!spec.ok()) {
    std::fprintf(stderr, "%s\n", spec.error().Line().c_str());
    return 2;
  }
  const std::string times = argv[3];
  if (times == "recorded" || times == "plain") {
    return RunOnce(spec.value(), times == "recorded" ? argv[2] : "") ? 0 : 5;
  }
  for (int pair = 0; pair < std::atoi(argv[3]); ++pair) {
    for (const bool recorded : {pair % 2 == 0, pair % 2 != 0}) {
      if (!RunOnce(spec.value(), recorded ? argv[2] : "")) return 5;
    }
  }
  return 0;
}
