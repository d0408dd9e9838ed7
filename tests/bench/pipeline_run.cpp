// Runs a spec's input pipeline alone, and prints one line of JSON: samples, seconds, CPU seconds,
// and the memory at a hundred moments.
//
//   pipeline_run SPEC.json [--steps N] [--seconds S] [--warm-up S] [--record RUN.sst]
//   [PATH=VALUE...]
//
// The time of the warm-up is not counted, nor are its samples. Ends at whichever limit comes first.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/base/clock.h"
#include "analyzer/spec/knobs.h"
#include "analyzer/spec/spec_json.h"
#include "collectors/pipeline/pipeline.h"
#include "collectors/recorder/recorder.h"
#include "tests/bench/usage.h"

namespace {

using namespace stallscope;

struct Arguments {
  std::string spec;
  std::string record;
  std::vector<std::string> settings;
  int64_t steps = std::numeric_limits<int64_t>::max();
  double seconds = std::numeric_limits<double>::infinity();
  double warm_up = 0;
};

bool Parse(int argc, char** argv, Arguments& arguments) {
  if (argc < 2) return false;
  arguments.spec = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0) {
      arguments.settings.push_back(word);
      continue;
    }
    if (++i == argc) return false;
    if (word == "--steps") {
      arguments.steps = std::atoll(argv[i]);
    } else if (word == "--seconds") {
      arguments.seconds = std::atof(argv[i]);
    } else if (word == "--warm-up") {
      arguments.warm_up = std::atof(argv[i]);
    } else if (word == "--record") {
      arguments.record = argv[i];
    } else {
      return false;
    }
  }
  return true;
}

// Resident, without what is mapped from files: bytes.
int64_t ResidentBytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  long long size = 0;
  long long resident = 0;
  long long shared = 0;
  if (file == nullptr || std::fscanf(file, "%lld %lld %lld", &size, &resident, &shared) != 3) {
    std::exit(1);
  }
  std::fclose(file);
  return (resident - shared) * sysconf(_SC_PAGESIZE);
}

struct Measured {
  int64_t steps = 0;
  int64_t samples = 0;
  double seconds = 0;
  double cpu_seconds = 0;
  std::vector<int64_t> resident;
};

Result<Measured> Run(pipeline::Pipeline& running, const Arguments& arguments) {
  Measured measured;
  int64_t start = MonotonicNs();
  double cpu = CpuSeconds();
  const auto elapsed = [&start] { return static_cast<double>(MonotonicNs() - start) * 1e-9; };
  bool warm = arguments.warm_up <= 0;
  const int64_t each = std::max<int64_t>(arguments.steps / 100, 1);
  while (measured.steps < arguments.steps && elapsed() < arguments.seconds) {
    STALLSCOPE_ASSIGN_OR_RETURN(auto batch, running.Next());
    if (!batch.has_value()) break;
    measured.samples += batch->samples();
    ++measured.steps;
    running.Recycle(std::move(*batch));
    if (arguments.steps < std::numeric_limits<int64_t>::max() && measured.steps % each == 0) {
      measured.resident.push_back(ResidentBytes());
    }
    if (warm || elapsed() < arguments.warm_up) continue;
    warm = true;
    measured = {};
    start = MonotonicNs();
    cpu = CpuSeconds();
  }
  measured.seconds = elapsed();
  measured.cpu_seconds = CpuSeconds() - cpu;
  return measured;
}

void Print(const Measured& measured, const pipeline::Pipeline& running) {
  std::printf("{\"steps\": %lld, \"samples\": %lld, \"seconds\": %.6f, \"cpu_seconds\": %.6f",
              static_cast<long long>(measured.steps), static_cast<long long>(measured.samples),
              measured.seconds, measured.cpu_seconds);
  std::printf(", \"resident_bytes\": [");
  for (size_t i = 0; i < measured.resident.size(); ++i) {
    std::printf("%s%lld", i == 0 ? "" : ", ", static_cast<long long>(measured.resident[i]));
  }
  std::printf("], \"notes\": [");
  const auto notes = running.stats().notes;
  for (size_t i = 0; i < notes.size(); ++i) {
    std::printf("%s\"%s\"", i == 0 ? "" : ", ", notes[i].c_str());
  }
  std::printf("]}\n");
}

Status Main(const Arguments& arguments) {
  STALLSCOPE_ASSIGN_OR_RETURN(Spec spec, ReadSpecFile(arguments.spec));
  STALLSCOPE_ASSIGN_OR_RETURN(spec, ApplySettings(std::move(spec), arguments.settings));
  std::unique_ptr<recorder::Recorder> recorder;
  if (!arguments.record.empty()) {
    STALLSCOPE_ASSIGN_OR_RETURN(recorder, recorder::Recorder::Start(arguments.record, {}));
  }
  const recorder::ThreadScope scope(recorder.get(), "trainer");
  STALLSCOPE_ASSIGN_OR_RETURN(auto running,
                              pipeline::Pipeline::Build(spec, {.recorder = recorder.get()}));
  STALLSCOPE_ASSIGN_OR_RETURN(const Measured measured, Run(*running, arguments));
  Print(measured, *running);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (!Parse(argc, argv, arguments)) {
    std::fprintf(stderr,
                 "usage: pipeline_run SPEC.json [--steps N] [--seconds S] [--warm-up S] "
                 "[--record RUN.sst] [PATH=VALUE...]\n");
    return 2;
  }
  const Status done = Main(arguments);
  if (done.ok()) return 0;
  std::fprintf(stderr, "pipeline_run: %s\n", done.error().Line().c_str());
  return 5;
}
