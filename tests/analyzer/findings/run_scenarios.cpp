#include "tests/analyzer/findings/scenarios.h"

namespace stallscope::test {

using attribution::Category;
using attribution::Cause;
using findings::Bound;

namespace {

void AddStragglers(CaseBuilder& b, size_t count) {
  b.ReadElements(400, 4, 100'000);
  for (size_t i = 0; i < count; ++i) {
    attribution::Straggler straggler;
    straggler.step = 17 + i;
    straggler.stall_ns = 45'000'000;
    straggler.element_ns = 41'000'000;
    straggler.start_ns = static_cast<int64_t>(i) * 50'000'000;
    straggler.stage = b.IdOf("read");
    straggler.cause = Cause::kIo;
    straggler.element = {100 + i};
    straggler.file = b.Intern("train-00003.tfrecord");
    straggler.record = 25;
    b.attribution.stragglers.push_back(straggler);
  }
}

// Of three ranks, for which the others wait.
void MakeSlowRank(CaseBuilder& b) {
  for (size_t i = 0; i < b.attribution.steps.size(); ++i) {
    auto& step = b.attribution.steps[i];
    step.rank = static_cast<uint32_t>(i % 3);
    step.ns[attribution::At(Category::kCommunication)] = step.rank == 2 ? 0 : 2'000'000;
  }
}

// Of three ranks of a job, whose waits for one another a trace without kernels calls work.
void MakeSlowInputOfRank(CaseBuilder& b) {
  b.run.info.job.command = {"python", "train.py"};
  b.with_spec = false;
  for (size_t i = 0; i < b.attribution.steps.size(); ++i) {
    auto& step = b.attribution.steps[i];
    step.rank = static_cast<uint32_t>(i % 3);
    step.ns[attribution::At(Category::kInputStall)] = step.rank == 1 ? 3'000'000 : 1'500'000;
  }
}

}  // namespace

std::vector<Scenario> RunScenarios() {
  return {
      {"memory-risk", "nine tenths of the memory",
       [](CaseBuilder& b) {
         b.attribution.memory.peak_rss_bytes = uint64_t{15} << 30;
         b.attribution.memory.stages = {{b.IdOf("prefetch"), 10'000'000},
                                        {b.IdOf("shuffle"), 900'000'000}};
       },
       "half of it",
       [](CaseBuilder& b) { b.attribution.memory.peak_rss_bytes = uint64_t{8} << 30; }},
      {"memory-risk", "memory that grows with each step",
       [](CaseBuilder& b) {
         b.attribution.memory.peak_rss_bytes = uint64_t{4} << 30;
         b.GrowMemory(1 << 30);
       },
       "by little", [](CaseBuilder& b) { b.GrowMemory(300 << 20); }},
      {"memory-risk", "memory that a stage of the pipeline fills",
       [](CaseBuilder& b) {
         b.attribution.memory.peak_rss_bytes = uint64_t{4} << 30;
         b.attribution.memory.stages = {{b.IdOf("shuffle"), 900'000'000}};
         b.GrowMemory(1 << 30);
       },
       "in a machine with room for days",
       [](CaseBuilder& b) { b.attribution.memory.limit_bytes = uint64_t{1} << 50; }},
      {"stragglers", "a step waits for one element",
       [](CaseBuilder& b) {
         b.Stall("read", Cause::kIo, 0.1);
         AddStragglers(b, 2);
       },
       "for less than a step takes",
       [](CaseBuilder& b) {
         for (auto& straggler : b.attribution.stragglers) straggler.element_ns = 9'000'000;
       }},
      {"stragglers", "a step waits for one element that takes twice as long as others",
       [](CaseBuilder& b) {
         b.Stall("read", Cause::kIo, 0.1);
         AddStragglers(b, 2);
         b.UseOf("read").service_ns.p50 = 20'000'000;
         for (auto& straggler : b.attribution.stragglers) straggler.took_ns = 40'000'000;
       },
       "every element takes as long",
       [](CaseBuilder& b) { b.UseOf("read").service_ns.p50 = 40'000'000; }},
      {"slow-shard", "all of them from one file",
       [](CaseBuilder& b) {
         b.Stall("read", Cause::kIo, 0.1);
         AddStragglers(b, 4);
       },
       "from several",
       [](CaseBuilder& b) {
         for (size_t i = 0; i < 4; ++i) {
           b.attribution.stragglers[i].file = b.run.rows.elements[i].file;
         }
       }},
      {"slow-rank", "one of three ranks is slower", MakeSlowRank,
       "in a job, the others do not wait for it",
       [](CaseBuilder& b) {
         b.run.info.job.command = {"python", "train.py"};
         b.with_spec = false;
         for (auto& step : b.attribution.steps) {
           if (step.rank == 2) step.end_ns += 2'000'000;
         }
       }},
      {"slow-rank", "one of three ranks is slower", MakeSlowRank, "all wait alike",
       [](CaseBuilder& b) {
         for (auto& step : b.attribution.steps) {
           step.ns[attribution::At(Category::kCommunication)] = 2'000'000;
         }
       }},
      {"slow-rank", "one of three ranks waits longer for its input", MakeSlowInputOfRank,
       "by less than a tenth of the step",
       [](CaseBuilder& b) {
         for (auto& step : b.attribution.steps) {
           step.ns[attribution::At(Category::kInputStall)] /= 2;
         }
       }},
      {"slow-rank", "one of three ranks waits longer for its input", MakeSlowInputOfRank,
       "the trace shows that all wait for one another alike",
       [](CaseBuilder& b) {
         for (auto& step : b.attribution.steps) {
           step.ns[attribution::At(Category::kCommunication)] = 1'000'000;
         }
       }},
      {"slow-rank", "one of three ranks waits longer for its input", MakeSlowInputOfRank,
       "its steps take longer, too: the others do not wait",
       [](CaseBuilder& b) {
         for (auto& step : b.attribution.steps) {
           if (step.rank == 1) step.end_ns += 1'500'000;
         }
       }},
      {"warm-up", "a first step of half a second",
       [](CaseBuilder& b) { b.run.rows.steps[0].requested_ns = -500'000'000; }, "of two steps",
       [](CaseBuilder& b) { b.run.rows.steps[0].requested_ns = -10'000'000; }},
      {"warm-up", "a first step that compiles",
       [](CaseBuilder& b) {
         b.run.rows.steps[0].requested_ns = -500'000'000;
         const CounterId counts{static_cast<uint32_t>(b.run.counters.size())};
         b.run.counters.push_back({counts, "compilations", ""});
         b.run.rows.samples.push_back({-400'000'000, 1, counts});
       },
       "of two steps", [](CaseBuilder& b) { b.run.rows.steps[0].requested_ns = -10'000'000; }},
      {"cpu-limit", "all cores are burned",
       [](CaseBuilder& b) {
         b.attribution.cpu.cores = 2;
         b.attribution.cpu.process_busy = 1.95;
         b.Stall("decode", Cause::kCpuContention, 0.4);
       },
       "one is free", [](CaseBuilder& b) { b.attribution.cpu.process_busy = 1.0; }},
      {"cpu-limit", "the trainer lacks a core for longer than it waits for input",
       [](CaseBuilder& b) {
         b.attribution.devices.clear();
         b.attribution.cpu.trainer_run_wait = 0.5;
         b.Stall("decode", Cause::kCpuContention, 0.3);
       },
       "for less long", [](CaseBuilder& b) { b.attribution.cpu.trainer_run_wait = 0.2; }},
      {"cpu-limit", "the input has the cores that the trainer is ready for",
       [](CaseBuilder& b) {
         b.attribution.devices.clear();
         b.attribution.cpu.trainer_run_wait = 0.8;
         b.attribution.cpu.taken_by_input = 0.7;
       },
       "others have them", [](CaseBuilder& b) { b.attribution.cpu.taken_by_input = 0.1; }},
      {"compute-bound", "the device computes", [](CaseBuilder&) {}, "it waits",
       [](CaseBuilder& b) { b.Stall("decode", Cause::kCpu, 0.2); }},
      {"balanced", "nothing stands out", [](CaseBuilder& b) { b.verdict.bound = Bound::kBalanced; },
       "something does", [](CaseBuilder& b) { b.verdict.bound = Bound::kInput; }},
      {"what-would-help", "copies that no change shortens",
       [](CaseBuilder& b) {
         b.Spend(Category::kTransfer, 0.4, Bound::kTransfer);
         b.CopyBatches(trace::CopyMemory::kPinned, 19'000'000);
       },
       "they are not pinned",
       [](CaseBuilder& b) {
         b.spec.transfer.pinned = false;
         b.attribution.devices[0].copies[0].memory = trace::CopyMemory::kPageable;
       }},
      {"inconclusive", "judged by the steps beside a profile",
       [](CaseBuilder& b) {
         b.verdict.bound = Bound::kInput;
         b.verdict.beside_profile = true;
       },
       "by their shares", [](CaseBuilder& b) { b.verdict.beside_profile = false; }},
      {"inconclusive", "two steps", [](CaseBuilder& b) { b.verdict.bound = Bound::kInconclusive; },
       "enough of them", [](CaseBuilder& b) { b.verdict.bound = Bound::kBalanced; }},
  };
}

CaseBuilder Fired(const Scenario& scenario) {
  CaseBuilder builder;
  scenario.fires(builder);
  return builder;
}

std::vector<Scenario> AllScenarios() {
  std::vector<Scenario> all;
  for (auto& some : {ReadScenarios(), MapScenarios(), StoreScenarios(), DeviceScenarios(),
                     RunScenarios(), JobScenarios(), TracedScenarios()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace stallscope::test
