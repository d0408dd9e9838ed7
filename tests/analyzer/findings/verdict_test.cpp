// What bounds a run, by DESIGN's words: each threshold from both sides.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/findings/findings.h"

using namespace stallscope;
using namespace stallscope::findings;
using attribution::Attribution;
using attribution::Category;
using attribution::Cause;
using doctest::Approx;

namespace {

struct Shares {
  int64_t compute = 0;  // of 100,000
  int64_t input = 0;
  int64_t transfer = 0;
  int64_t launch = 0;
  int64_t communication = 0;
};

// What is judged: 100 steps of 1,000, of which nothing is lost, with narrow intervals.
struct Facts {
  model::Run run;
  Attribution a;

  explicit Facts(const Shares& shares, size_t steps = 100) {
    a.window = {.start_ns = 0, .end_ns = 100'000, .rows = steps, .steps = steps};
    Set(Category::kCompute, shares.compute);
    Set(Category::kInputStall, shares.input);
    Set(Category::kTransfer, shares.transfer);
    Set(Category::kLaunch, shares.launch);
    Set(Category::kCommunication, shares.communication);
    Set(Category::kSync, 0);
    Set(Category::kOther, 100'000 - shares.compute - shares.input - shares.transfer -
                              shares.launch - shares.communication);
    for (const char* const name : {"read", "decode", "trainer"}) {
      const StageId id{static_cast<uint32_t>(run.stages.size())};
      run.stages.push_back({id, name, "map", {}, QueueId::None(), 1, true});
    }
    if (shares.input > 0) Blame(StageId{1}, Cause::kCpu, shares.input);
    run.tracks.resize(2);
    for (uint64_t k = 0; k < steps; ++k) {
      run.rows.steps.push_back({k, 0, 0, 0, 0, {}, TrackId{1}, 1, 0});
    }
  }
  void Set(Category category, int64_t ns) {
    const double fraction = static_cast<double>(ns) / 100'000;
    a.breakdown[attribution::At(category)] =
        attribution::CategoryTotal{ns, fraction, fraction, fraction};
  }
  void Blame(StageId stage, Cause cause, int64_t ns) {
    a.blame.push_back({stage, cause, ns, static_cast<double>(ns) / 100'000});
  }
  // The stage slowed by a quarter, in four windows.
  void Slow(uint32_t stage, double low, double high) {
    a.sensitivities.push_back({StageId{stage}, (low + high) / 2, low, high, true, 4, 0.25});
  }
  Verdict Judged() const { return VerdictOn(run, a); }
};

std::string Text(const Shares& shares) { return Facts(shares).Judged().text; }

bool Doubts(const Verdict& verdict, const std::string& words) {
  return std::any_of(verdict.doubts.begin(), verdict.doubts.end(), [&](const std::string& doubt) {
    return doubt.find(words) != std::string::npos;
  });
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("compute on the host: the trainer's waits for a core are a doubt") {
    Facts facts({.compute = 95'000});
    CHECK_FALSE(Doubts(facts.Judged(), "core"));
    facts.a.cpu.trainer_run_wait = 0.04;
    CHECK_FALSE(Doubts(facts.Judged(), "core"));
    facts.a.cpu.trainer_run_wait = 0.4;
    CHECK(Doubts(facts.Judged(), "for 40.0% of step time its thread is ready without a core"));
    facts.a.devices.resize(1);
    CHECK_FALSE(Doubts(facts.Judged(), "core"));
  }

  TEST_CASE("an input that has the cores which the trainer is ready for bounds the run") {
    Facts facts({.compute = 98'000, .input = 2'000});
    facts.a.cpu.trainer_run_wait = 0.8;
    facts.a.cpu.taken_by_input = 0.6;
    facts.a.stages.resize(3);
    for (uint32_t i = 0; i < 3; ++i) facts.a.stages[i].stage = StageId{i};
    facts.a.stages[0].cpu_ns = 90'000;
    facts.a.stages[1].cpu_ns = 10'000;
    facts.a.stages[2].cpu_ns = 200'000;
    facts.run.stages[2].kind = "trainer";
    const Verdict verdict = facts.Judged();
    CHECK(verdict.text == "input-bound: read (cpu_contention)");
    CHECK(verdict.confidence == doctest::Approx(0.8));
    CHECK(Doubts(verdict,
                 "only 2.0% of step time is a wait for a batch, but for 60.0% the trainer's "
                 "thread is ready while the input has the cores"));
    CHECK(verdict.also.empty());
    Facts works = facts;  // for longer than it lacks a core
    works.a.cpu.taken_by_input = 0.47;
    CHECK(works.Judged().text == "compute-bound");
    Facts computes = facts;  // on a device, beside which the thread may wait
    computes.a.devices.resize(1);
    CHECK(computes.Judged().text == "compute-bound");
  }

  TEST_CASE("a lack of cores that takes more than what bounds the run comes first") {
    Facts facts({.compute = 60'000, .input = 26'000, .launch = 8'000});
    const std::string without = facts.Judged().also;
    CHECK(without.starts_with("launch takes 8.0% of step time"));
    facts.a.cpu.trainer_run_wait = 0.25;
    CHECK(facts.Judged().also == without);
    facts.a.cpu.trainer_run_wait = 0.59;
    CHECK(facts.Judged().also ==
          "for up to 59.0% of step time the trainer's thread is ready without a core, more than "
          "waiting for input takes: fewer busy threads, or more cores, help first; " +
              without);
    facts.a.devices.resize(1);
    CHECK(facts.Judged().also == without);
  }

  TEST_CASE("compute-bound from 90%, whatever else there is") {
    CHECK(Text({.compute = 90'000}) == "compute-bound");
    CHECK(Text({.compute = 90'000, .input = 10'000}) == "compute-bound");
    CHECK(Text({.compute = 89'999, .input = 10'001}) == "input-bound: decode (cpu)");
    CHECK(Text({.compute = 100'000}) == "compute-bound");
  }

  TEST_CASE("the largest of the four names the bound from 10%") {
    CHECK(Text({.compute = 50'000, .input = 10'000}) == "input-bound: decode (cpu)");
    CHECK(Text({.compute = 50'000, .input = 9'999}) == "balanced");
    CHECK(Text({.compute = 50'000, .transfer = 10'000}) == "transfer-bound");
    CHECK(Text({.compute = 50'000, .transfer = 9'999}) == "balanced");
    CHECK(Text({.compute = 50'000, .launch = 10'000}) == "launch-bound");
    CHECK(Text({.compute = 50'000, .launch = 9'999}) == "balanced");
    CHECK(Text({.compute = 50'000, .communication = 10'000}) == "communication-bound");
    CHECK(Text({.compute = 50'000, .communication = 9'999}) == "balanced");
    CHECK(Text({.compute = 80'000, .input = 10'000}) == "input-bound: decode (cpu)");
    // Without the launches this run would be 1.11x as fast: they do not bound it.
    CHECK(Text({.compute = 84'700, .transfer = 1'000, .launch = 9'900, .communication = 4'400}) ==
          "compute-bound");
  }

  TEST_CASE("the largest must be 1.25 times the next") {
    CHECK(Text({.input = 25'000, .transfer = 20'000}) == "input-bound: decode (cpu)");
    CHECK(Text({.input = 24'999, .transfer = 20'000}) == "balanced");
    CHECK(Text({.input = 20'000, .launch = 25'000}) == "launch-bound");
    CHECK(Text({.input = 20'000, .launch = 24'999}) == "balanced");
    CHECK(Text({.transfer = 25'000, .communication = 20'000}) == "transfer-bound");
    CHECK(Text({.transfer = 20'000, .communication = 25'000}) == "communication-bound");
    // 1.25 times the next, not the sum of the others.
    CHECK(Text({.input = 25'000, .transfer = 20'000, .launch = 20'000, .communication = 20'000}) ==
          "input-bound: decode (cpu)");
    // Large compute does not help where two are alike.
    CHECK(Text({.compute = 70'000, .input = 10'000, .transfer = 10'000}) == "balanced");
  }

  TEST_CASE("compute-bound from 60% if each of the four is below 10%") {
    CHECK(Text({.compute = 60'000, .input = 9'999}) == "compute-bound");
    CHECK(Text({.compute = 59'999, .input = 9'999}) == "balanced");
    CHECK(Text({.compute = 60'000,
                .input = 9'999,
                .transfer = 9'999,
                .launch = 9'999,
                .communication = 9'999}) == "compute-bound");
    CHECK(Text({.compute = 60'000, .input = 10'000, .transfer = 10'000}) == "balanced");
  }

  TEST_CASE("second sentence: what else takes 5% or more, and what removing it would gain") {
    const auto also = [](const Shares& shares) { return Facts(shares).Judged().also; };
    CHECK(also({.compute = 84'700, .launch = 9'900, .communication = 4'400}) ==
          "launch takes 9.9% of step time: without it the run would be at most 1.11x as fast");
    CHECK(also({.compute = 95'000, .input = 5'000}) ==
          "waiting for input takes 5.0% of step time: without it the run would be at most 1.05x as "
          "fast");
    CHECK(also({.compute = 85'001, .input = 4'999}).empty());
    // The bound is in the first sentence.
    CHECK(also({.compute = 50'000, .input = 40'000}).empty());
    CHECK(also({.compute = 50'000, .input = 30'000, .transfer = 6'000, .launch = 8'000}) ==
          "launch takes 8.0% of step time: without it the run would be at most 1.09x as fast; "
          "transfer takes 6.0%: at most 1.06x");
    // Two that are alike.
    CHECK(also({.compute = 60'000, .input = 20'000, .transfer = 18'000}) ==
          "waiting for input takes 20.0% of step time: without it the run would be at most 1.25x "
          "as fast; transfer takes 18.0%: at most 1.22x");
    CHECK(Facts({.compute = 90'000, .input = 8'000}, 2).Judged().also.empty());
  }

  TEST_CASE("sync, other and unknown categories never name the bound") {
    Facts c({.compute = 10'000});
    c.Set(Category::kSync, 90'000);
    CHECK(c.Judged().text == "balanced");
    c = Facts({.input = 30'000});
    c.a.breakdown[attribution::At(Category::kTransfer)].reset();
    c.a.breakdown[attribution::At(Category::kCommunication)].reset();
    c.a.breakdown[attribution::At(Category::kCompute)].reset();
    CHECK(c.Judged().text == "input-bound: decode (cpu)");
  }

  TEST_CASE("verdict fields: the most blamed stage and cause") {
    Facts c({.input = 50'000});
    c.a.blame.clear();
    c.Blame(StageId{0}, Cause::kIo, 20'000);     // read: 20
    c.Blame(StageId{1}, Cause::kOrder, 14'000);  // decode: 30 in three
    c.Blame(StageId{1}, Cause::kCpu, 13'000);
    c.Blame(StageId{1}, Cause::kBlocked, 3'000);
    const Verdict verdict = c.Judged();
    CHECK(verdict.bound == Bound::kInput);
    CHECK(verdict.stage == StageId{1});
    CHECK(verdict.cause == Cause::kOrder);
    CHECK(verdict.text == "input-bound: decode (order)");

    const Verdict compute = Facts({.compute = 95'000, .input = 5'000}).Judged();
    CHECK(compute.bound == Bound::kCompute);
    CHECK(!compute.stage.known());
    CHECK(!compute.cause.has_value());
    CHECK(compute.confidence == 1);
    CHECK(compute.doubts.empty());
  }

  TEST_CASE("verdict text: word for each cause") {
    const std::vector<std::pair<Cause, const char*>> words = {
        {Cause::kIo, "io"},           {Cause::kLock, "lock"},
        {Cause::kBlocked, "blocked"}, {Cause::kCpuContention, "cpu_contention"},
        {Cause::kOrder, "order"},     {Cause::kCpu, "cpu"},
        {Cause::kSerial, "serial"},   {Cause::kBuffer, "buffer"},
        {Cause::kUnknown, "unknown"}};
    for (const auto& [cause, word] : words) {
      Facts c({.input = 50'000});
      c.a.blame.clear();
      c.Blame(StageId{0}, cause, 50'000);
      CHECK(c.Judged().text == std::string("input-bound: read (") + word + ")");
    }
  }

  TEST_CASE("stall without a known stage: no name") {
    Facts c({.input = 50'000});
    c.a.blame.clear();
    c.Blame(StageId::None(), Cause::kUnknown, 50'000);
    const Verdict verdict = c.Judged();
    CHECK(verdict.bound == Bound::kInput);
    CHECK(!verdict.stage.known());
    CHECK(verdict.text.rfind("input-bound", 0) == 0);
    CHECK(verdict.confidence < 1);
  }

  TEST_CASE("fewer than 3 steps, warm-up included: inconclusive") {
    CHECK(Facts({.compute = 100'000}, 0).Judged().text == "inconclusive");
    CHECK(Facts({.compute = 100'000}, 1).Judged().text == "inconclusive");
    Facts two({.compute = 100'000}, 2);
    CHECK(two.Judged().text == "inconclusive");
    CHECK(two.Judged().bound == Bound::kInconclusive);
    CHECK(two.Judged().confidence == 0);
    CHECK(Doubts(two.Judged(), "2 steps"));
    CHECK(Doubts(Facts(Shares{}, 1).Judged(), "one step is too few"));
    CHECK(Doubts(Facts(Shares{}, 0).Judged(), "no steps to judge by"));
    two.a.window.warmup_steps = 1;
    CHECK(two.Judged().text == "compute-bound");
    CHECK(Facts({.compute = 100'000}, 3).Judged().text == "compute-bound");
    Facts empty({.compute = 100'000});
    empty.a.window.end_ns = 0;
    CHECK(empty.Judged().text == "inconclusive");
  }

  TEST_CASE("profiled steps that hardly wait stand for no others that do: input-bound") {
    Facts facts({.compute = 95'000, .input = 2'000}, 20);
    const auto judged = [&](double profiled, double others) {
      facts.a.beside_profile = {{8, profiled, 95'000, 95'000}, {55, others, 95'000, 95'000}};
      return VerdictOn(facts.run, facts.a);
    };
    const Verdict verdict = judged(0.02, 0.9);
    CHECK(verdict.text == "input-bound");
    CHECK(!verdict.stage.known());
    CHECK(verdict.beside_profile);
    CHECK(verdict.confidence == Approx(0.7));
    CHECK(verdict.doubts.front() ==
          "the 8 profiled steps wait for their batches for 2.0% of the time, the 55 others for "
          "90.0%: what they wait for is not in the profile");
    CHECK(judged(0.02, 0.2).text == "compute-bound");
    CHECK(judged(0.4, 0.9).text == "compute-bound");  // they wait, too
    facts.a.window.steps = 8;
    CHECK(judged(0.02, 0.9).confidence == Approx(0.7 * 0.7));
  }

  TEST_CASE("profiled steps stand for no others that take much longer: inconclusive") {
    const auto judged = [](double of_others, int64_t input) {
      Facts facts({.compute = 99'000 - input, .input = input}, 8);
      facts.a.beside_profile = {{8, 0, 100'000, 100'000}, {40, 0, of_others, 1'000'000}};
      return VerdictOn(facts.run, facts.a);
    };
    const Verdict unlike = judged(280'000, 0);
    CHECK(unlike.bound == Bound::kInconclusive);
    CHECK(unlike.doubts.front() ==
          "the 8 profiled steps take 100 us each, the 40 others 280 us on average, and up to 1.00 "
          "ms: what they do in that time is not in the profile");
    CHECK(judged(120'000, 0).bound == Bound::kCompute);
    CHECK(judged(280'000, 30'000).bound == Bound::kInput);
  }

  TEST_CASE("confidence falls below 20 steps") {
    const auto confidence = [](size_t steps) {
      return Facts({.compute = 100'000}, steps).Judged().confidence;
    };
    CHECK(confidence(20) == 1);
    CHECK(confidence(19) < 1);
    CHECK(confidence(10) < confidence(19));
    CHECK(confidence(3) < confidence(10));
    CHECK(confidence(3) > 0);
    CHECK(Doubts(Facts({.compute = 100'000}, 19).Judged(), "19 steps"));
    CHECK(Facts({.compute = 100'000}, 20).Judged().doubts.empty());
  }

  TEST_CASE("missing steps: a few lower the confidence, many make it inconclusive") {
    const auto lost = [](size_t from, size_t count) {
      Facts c({.compute = 100'000});
      auto& steps = c.run.rows.steps;
      const auto first = steps.begin() + static_cast<std::ptrdiff_t>(from);
      steps.erase(first, first + static_cast<std::ptrdiff_t>(count));
      return c.Judged();
    };
    CHECK(lost(50, 5).text == "compute-bound");
    CHECK(lost(50, 5).confidence == Approx(0.95));
    CHECK(Doubts(lost(50, 5), "5.0%"));
    CHECK(lost(50, 10).text == "compute-bound");
    CHECK(lost(50, 11).text == "inconclusive");
    CHECK(lost(1, 98).text == "inconclusive");
    // A run that begins late or ends early is a shorter run.
    CHECK(lost(0, 50).confidence == 1);
    CHECK(lost(50, 50).confidence == 1);
  }

  TEST_CASE("one step index on several ranks is one step") {
    Facts c({.compute = 100'000});
    std::vector<trace::Step> twice;
    for (const trace::Step& step : c.run.rows.steps) twice.insert(twice.end(), 2, step);
    c.run.rows.steps = twice;
    CHECK(c.Judged().confidence == 1);
  }

  TEST_CASE("missing events of the trainer") {
    const auto lost = [](int64_t from, int64_t to, TrackId track) {
      Facts c({.compute = 100'000});
      c.run.rows.gaps.push_back({from, to, 1, track});
      return c.Judged();
    };
    CHECK(lost(10'000, 15'000, TrackId{1}).confidence == Approx(0.95));
    CHECK(lost(10'000, 20'001, TrackId{1}).text == "inconclusive");
    CHECK(lost(-90'000, 0, TrackId{1}).confidence == 1);  // before the window
    CHECK(lost(95'000, 500'000, TrackId{1}).confidence == Approx(0.95));
    CHECK(lost(0, 100'000, TrackId{0}).text == "compute-bound");  // another thread's
  }

  TEST_CASE("overlapping gaps count once") {
    Facts c({.compute = 100'000});
    for (int i = 0; i < 3; ++i) c.run.rows.gaps.push_back({10'000, 15'000, 1, TrackId{1}});
    CHECK(c.Judged().confidence == Approx(0.95));
  }

  TEST_CASE("losses of the file and the recorder") {
    const auto judged = [](uint64_t frames, uint64_t missing, uint64_t emitted, uint64_t dropped) {
      Facts c({.compute = 100'000});
      c.run.quality.frames = frames;
      c.run.quality.missing_frames = missing;
      if (emitted > 0) c.run.quality.emitted = emitted;
      c.run.quality.dropped = dropped;
      return c.Judged();
    };
    CHECK(judged(100, 0, 1000, 0).confidence == 1);
    CHECK(judged(95, 5, 0, 0).confidence == Approx(0.95));
    CHECK(judged(50, 50, 0, 0).text == "inconclusive");
    CHECK(judged(100, 0, 1000, 20).confidence == Approx(0.98));
    CHECK(judged(100, 0, 1000, 200).text == "inconclusive");
  }

  TEST_CASE("doubts: launches that only the profiler may have made the largest") {
    Facts facts({.compute = 40'000, .launch = 55'000});
    CHECK_FALSE(Doubts(facts.Judged(), "the profiler adds"));
    facts.a.slowed_by_profiler = 0.15;  // 13 of 100: 42 are left
    CHECK_FALSE(Doubts(facts.Judged(), "the profiler adds"));
    facts.a.slowed_by_profiler = 0.2;  // 17 of 100: 38 are left
    CHECK(Doubts(facts.Judged(), "the profiler adds 20.0%"));
  }

  TEST_CASE("doubts: close to another bound") {
    const Verdict clear = Facts({.compute = 20'000, .input = 60'000, .transfer = 10'000}).Judged();
    CHECK(clear.confidence == 1);
    CHECK(clear.doubts.empty());
    const Verdict near = Facts({.input = 30'000, .transfer = 22'000}).Judged();
    CHECK(near.bound == Bound::kInput);
    CHECK(near.confidence < 1);
    CHECK(Doubts(near, "transfer"));
    Facts wide({.compute = 50'000, .input = 13'000});
    wide.a.breakdown[attribution::At(Category::kInputStall)]->low = 0.09;
    CHECK(wide.Judged().bound == Bound::kInput);
    CHECK(Doubts(wide.Judged(), "input_stall may be less than 10%"));
    CHECK(Doubts(Facts({.compute = 90'000, .input = 10'000}).Judged(), "just enough"));
    CHECK(Doubts(Facts({.compute = 84'700, .launch = 9'900}).Judged(), "launch is nearly"));
    CHECK(Facts({.compute = 84'700, .launch = 7'900}).Judged().confidence == 1);
    CHECK(Doubts(Facts({.compute = 89'500, .input = 10'500}).Judged(), "compute covers 89.5%"));
    CHECK(Doubts(Facts({.input = 24'000, .transfer = 20'000}).Judged(), "nearly large enough"));
  }

  TEST_CASE("doubts: shared blame, unknown cause, disagreeing capacity") {
    const auto judged = [](int64_t other, Cause cause) {
      Facts c({.input = 50'000});
      c.a.blame.clear();
      c.Blame(StageId{1}, cause, 20'000);
      c.Blame(StageId{0}, Cause::kIo, other);
      return c.Judged();
    };
    CHECK(judged(10'000, Cause::kCpu).confidence == 1);
    CHECK(judged(10'001, Cause::kCpu).confidence < 1);
    CHECK(judged(15'001, Cause::kCpu).confidence < judged(10'001, Cause::kCpu).confidence);
    CHECK(judged(0, Cause::kUnknown).confidence < 1);

    Facts c({.input = 50'000});
    c.a.cross_check = {StageId{0}, false, "by its capacity 'read' is the slowest"};
    CHECK(c.Judged().confidence < 1);
    CHECK(Doubts(c.Judged(), "'read'"));
    c = Facts({.compute = 95'000});
    c.a.cross_check = {StageId{0}, false, "by its capacity 'read' is the slowest"};
    CHECK(c.Judged().confidence == 1);  // nobody is blamed
  }

  TEST_CASE("doubts: cores taken by other machines") {
    Facts c({.compute = 95'000});
    c.a.cpu.steal = 0.05;
    CHECK(c.Judged().confidence == 1);
    c.a.cpu.steal = 0.06;
    CHECK(c.Judged().confidence < 1);
    CHECK(Doubts(c.Judged(), "other machines"));
  }

  TEST_CASE("confidence is always between 0 and 1") {
    Facts c({.compute = 81'000, .input = 10'500, .transfer = 8'300}, 4);
    c.a.breakdown[attribution::At(Category::kInputStall)]->low = 0;
    c.a.cpu.steal = 1;
    c.a.cross_check.agrees = false;
    c.a.blame = {{StageId{0}, Cause::kUnknown, 3'000, 0.03},
                 {StageId{1}, Cause::kUnknown, 2'999, 0}};
    const Verdict verdict = c.Judged();
    CHECK(verdict.bound == Bound::kInput);
    CHECK(verdict.confidence > 0);
    CHECK(verdict.confidence < 0.2);
    CHECK(verdict.doubts.size() >= 6);
  }

  TEST_CASE("causal check: agreement changes nothing") {
    Facts facts({.compute = 40'000, .input = 50'000});
    facts.run.stages[2].kind = "trainer";
    const Verdict before = facts.Judged();
    facts.Slow(1, -1.05, -0.8);
    facts.Slow(0, -0.1, 0.1);
    facts.Slow(2, -0.1, 0.05);
    const Verdict verdict = facts.Judged();
    CHECK(verdict.text == "input-bound: decode (cpu)");
    CHECK(verdict.confidence == before.confidence);
    CHECK(verdict.doubts == before.doubts);
  }

  TEST_CASE("causal check: the stage that costs throughput is named, if that is beyond doubt") {
    const auto judged = [](double named_low, double read_high) {
      Facts facts({.compute = 40'000, .input = 50'000});
      facts.Slow(1, named_low, 0.05);
      facts.Slow(0, -1, read_high);
      facts.a.stages = {{.stage = StageId{0}}, {.stage = StageId{1}}};
      facts.a.stages[0].cpu_ns = 10;
      facts.a.stages[0].io_ns = 90;
      return facts.Judged();
    };
    const Verdict wins = judged(-0.1, -0.7);
    CHECK(wins.text == "input-bound: read (io)");
    CHECK(wins.confidence == Approx(0.7));
    CHECK(
        Doubts(wins,
               "slowing 'read' by 25% changed the throughput by -17%, slowing 'decode' by 25% "
               "changed the throughput by -1%: the check names 'read', although 'decode' is blamed "
               "most"));
    // The intervals overlap; the other stage is not felt beyond doubt.
    CHECK(judged(-0.8, -0.7).text == "input-bound: decode (cpu)");
    CHECK(judged(-0.8, -0.7).doubts.empty());
    CHECK(judged(-0.8, -0.2).doubts.empty());
    // The blamed stage has time to spare, and nothing else is felt.
    const Verdict nobody = judged(-0.1, -0.2);
    CHECK(nobody.text == "input-bound: decode (cpu)");
    CHECK(nobody.confidence == Approx(0.6));
    CHECK(Doubts(nobody, "disagree"));
  }

  TEST_CASE("causal check: if the blamed stage has no windows, another one needs more than half") {
    for (const double high : {-0.5, -0.49}) {
      Facts facts({.compute = 40'000, .input = 50'000});
      facts.Slow(0, -1, high);
      facts.a.stages = {{.stage = StageId{0}}};
      facts.a.stages[0].cpu_ns = 10;
      CHECK(facts.Judged().text ==
            (high == -0.5 ? "input-bound: read (cpu)" : "input-bound: decode (cpu)"));
    }
    // One window decides nothing.
    Facts facts({.compute = 40'000, .input = 50'000});
    facts.Slow(0, -1, -1);
    facts.a.sensitivities[0].bounded = false;
    CHECK(facts.Judged().text == "input-bound: decode (cpu)");
    CHECK(facts.Judged().doubts.empty());
  }

  TEST_CASE("causal check: input that costs throughput while the trainer does not is a doubt") {
    const auto judged = [](double trainer_low, double trainer_high, Shares shares) {
      Facts facts(shares);
      facts.run.stages[2].kind = "trainer";
      facts.Slow(1, -1, -0.7);
      facts.Slow(2, trainer_low, trainer_high);
      return facts.Judged();
    };
    const Shares compute = {.compute = 95'000};
    CHECK(Doubts(judged(-0.1, 0.1, compute), "the step times and this check disagree"));
    CHECK(judged(-0.1, 0.1, compute).text == "compute-bound");
    CHECK_FALSE(Doubts(judged(-0.4, -0.1, compute), "disagree"));
    CHECK_FALSE(Doubts(judged(-0.1, 0.1, {.input = 20'000, .transfer = 20'000}), "disagree"));
    // Input-bound by the stall, while only the trainer is felt.
    Facts facts({.compute = 40'000, .input = 50'000});
    facts.run.stages[2].kind = "trainer";
    facts.Slow(1, -0.1, 0.1);
    facts.Slow(2, -1, -0.8);
    CHECK(facts.Judged().text == "input-bound: decode (cpu)");
    CHECK(Doubts(facts.Judged(), "the blame and this check disagree"));
  }
}
