// Sweeps, specs and a bench for the tests of the room.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "replay/sweep/bench.h"
#include "replay/sweep/sweep.h"

namespace stallscope::test {

// read, decode (a map), batch, ready (prefetch); an emulated device.
Spec SweepSpec();
Spec SpecFrom(const std::string& json);
// A job's, whose loader has two workers.
Spec JobSpecOfTest();

// A planned grid over decode.parallelism=1,2,4, which has the base (2) in it.
replay::Sweep PlannedGrid(replay::SweepMode mode, unsigned repeats = 2);

// Runs nothing: what `rate` says is what comes out. Remembers what it was asked.
class FakeBench final : public replay::Bench {
 public:
  explicit FakeBench(std::function<double(const Spec&, int cores)> rate) : rate_(std::move(rate)) {}
  Result<replay::Outcome> Measure(const Spec& spec, const replay::RunWish& wish) override;

  std::vector<std::string> asked;  // decode.parallelism or loader.num_workers of each run
  std::vector<bool> digests;
  std::vector<bool> probes;
  std::string digest = "00112233445566778899aabbccddeeff";
  std::function<uint64_t(const Spec&)> memory;  // of a run; empty: 1,000,000 bytes
  std::function<void(size_t runs)> before;      // each run; may be empty
  std::function<double(size_t runs)> others;    // had of the cores in the run after these; or empty
  std::function<double(size_t runs)> from_disk;  // the same for its reads
  // Whether the run after these fills a snapshot called "kept"; or empty.
  std::function<bool(size_t runs, const Spec&)> fills;
  bool stop = false;            // every run is stopped
  std::optional<Error> broken;  // nothing can be run

 private:
  std::function<double(const Spec&, int cores)> rate_;
};

int64_t DecodeWorkers(const Spec& spec);

}  // namespace stallscope::test
