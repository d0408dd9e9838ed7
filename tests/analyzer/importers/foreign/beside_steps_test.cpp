#include "analyzer/importers/foreign/beside_steps.h"

#include <doctest/doctest.h>

#include <string>

#include "analyzer/attribution/attribution.h"
#include "analyzer/importers/foreign/run_builder.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)
using importers::BesideLabel;
using importers::RunBuilder;
using trace::SpanActivity;

namespace {

constexpr int64_t kMs = 1'000'000;

// Ten steps of 10 ms that each wait 2 ms for a batch, then 40 ms of a span of this name in which
// the loader is asked ten times, for 3 ms each.
attribution::Attribution EpochAnd(const std::string& name, SpanActivity activity) {
  RunBuilder builder("a.json", "kineto");
  const TrackId thread = builder.ThreadTrack("python", 7);
  const TrackId detail = builder.DetailTrack("python", 7);
  const StageId loader = builder.Stage("DataLoader", "dataloader", 1);
  builder.Connect(loader, builder.Stage("trainer", "trainer", 1));
  std::vector<importers::StepMark> marks;
  for (int64_t step = 0; step < 10; ++step) {
    importers::StepMark mark;
    mark.index = static_cast<uint64_t>(step);
    mark.start_ns = step * 10 * kMs;
    mark.end_ns = mark.start_ns + (step == 9 ? 50 : 10) * kMs;
    mark.track = thread;
    marks.push_back(mark);
    builder.AddBatchWait(thread, loader, mark.start_ns, mark.start_ns + 2 * kMs, true);
  }
  const uint16_t what = builder.Detail(activity, builder.Intern(name));
  builder.AddSpan(detail, what, 100 * kMs, 140 * kMs);
  builder.AddSpan(detail, what, 101 * kMs, 102 * kMs);  // within it
  for (int64_t i = 0; i < 10; ++i) {
    const int64_t at = 100 * kMs + i * 4 * kMs;
    builder.AddBatchWait(thread, loader, at, at + 3 * kMs, true);
  }
  return attribution::Attribute(builder.Finish(marks));
}

int64_t StallNs(const attribution::Attribution& of) {
  return of.breakdown[attribution::At(attribution::Category::kInputStall)]->ns;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("imported evaluation is labeled, and waiting in it is no stall") {
    const auto lightning =
        EpochAnd("[pl][profile][Strategy]DDPStrategy.validation_step", SpanActivity::kAnnotation);
    REQUIRE(lightning.beside.size() == 1);
    CHECK(lightning.beside[0].name == "evaluation");
    CHECK(lightning.beside[0].ns == 40 * kMs);
    CHECK(lightning.beside[0].count == 1);
    CHECK(StallNs(lightning) == 20 * kMs);
    const auto saves =
        EpochAnd("transformers/trainer.py(2800): _save_checkpoint", SpanActivity::kFunction);
    REQUIRE(saves.beside.size() == 1);
    CHECK(saves.beside[0].name == "checkpoint");
    // A near miss: the same time under a name that does not say so.
    const auto training = EpochAnd("[pl][profile][_TrainingEpochLoop].train_dataloader_next",
                                   SpanActivity::kAnnotation);
    CHECK(training.beside.empty());
    CHECK(StallNs(training) == 50 * kMs);
  }

  TEST_CASE("names of evaluation and checkpoints, and near misses") {
    CHECK(BesideLabel("[pl][profile][_EvaluationLoop].val_next") == "evaluation");
    CHECK(BesideLabel("[pl][profile]save_checkpoint") == "checkpoint");
    CHECK(BesideLabel("transformers/trainer.py(3035): evaluation_loop") == "evaluation");
    CHECK(BesideLabel("/usr/lib/python3/torch/serialization.py(376): save") == "checkpoint");
    CHECK(BesideLabel("$trainer.py:431 evaluate") == "evaluation");
    CHECK(BesideLabel("test_function") == "evaluation");
    CHECK(BesideLabel("evaluation") == "evaluation");
    for (const char* const name :
         {"", "[pl][profile]run_training_epoch", "validation_split", "sympy/core.py(12): evaluate",
          "$model.py:12 evaluate", "torch/serialization.py(900): load", "test", "aten::eval",
          "transformers/trainer.py(1500): train"}) {
      CAPTURE(name);
      CHECK(BesideLabel(name).empty());
    }
  }
}
