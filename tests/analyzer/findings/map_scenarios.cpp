#include "tests/analyzer/findings/scenarios.h"

#include <utility>

namespace stallscope::test {

using attribution::Cause;

namespace {

void CheapMaps(CaseBuilder& b) {
  b.StageSpecOf("decode").kind = MapSpec{.ops = {"busy(2)"}, .parallelism = {2, false}};
  b.StageSpecOf("augment").kind = MapSpec{.ops = {"busy(3)"}, .parallelism = {2, false}};
  b.Stall("augment", Cause::kCpu, 0.3);
  b.UseOf("decode").service_ns.mean = 10'000;
  b.UseOf("augment").service_ns.mean = 30'000;
}

// Before anything stalls, or where the figures of the stages do not matter.
void InsertBehindDecode(CaseBuilder& b, decltype(StageSpec::kind) kind) {
  b.spec.stages.insert(b.spec.stages.begin() + 3, {"between", std::move(kind)});
  b.TakeStagesFromSpec();
}

// A hundred fetches of 0.2 ms with twenty operations behind each; in the middle one that finds an
// epoch's end in so many nanoseconds, and then the next one's first, which takes 40 ms.
void AddTwoEpochs(CaseBuilder& b, int64_t end_ns) {
  const auto class_of = [&](trace::SpanKind kind, trace::SpanActivity activity) {
    trace::SpanClass what;
    what.kind = kind;
    what.activity = activity;
    if (kind == trace::SpanKind::kWait) {
      what.cause = trace::WaitCause::kEmpty;
      what.queue = QueueId{static_cast<uint32_t>(b.run.queues.size())};
      b.run.queues.emplace_back().producer = b.IdOf("decode");
    }
    b.run.span_classes.push_back(what);
    return static_cast<uint16_t>(b.run.span_classes.size() - 1);
  };
  const uint16_t fetch = class_of(trace::SpanKind::kWait, trace::SpanActivity::kLoader);
  const uint16_t op = class_of(trace::SpanKind::kWork, trace::SpanActivity::kOperator);
  model::Track trainer;
  model::Track detail;
  trainer.info.kind = trace::TrackKind::kThread;
  detail.info.kind = trace::TrackKind::kDetail;
  trainer.info.thread = detail.info.thread = 7;
  int64_t at = 0;
  const auto add = [&](model::Track& track, uint16_t what, int64_t ns) {
    track.spans.start_ns.push_back(at);
    track.spans.duration.push_back(static_cast<uint32_t>(ns));
    track.spans.span_class.push_back(what);
    track.spans.item.push_back(ItemId::None().value);
    at += ns;
  };
  for (int i = 0; i < 100; ++i) {
    if (i == 50) add(trainer, fetch, end_ns);
    at += 100'000;
    add(trainer, fetch, i == 50 ? 40'000'000 : 200'000);
    for (int k = 0; k < 20; ++k) add(detail, op, 400'000);
  }
  b.run.tracks.push_back(trainer);
  b.run.tracks.push_back(detail);
}

}  // namespace

std::vector<Scenario> MapScenarios() {
  return {
      {"map-parallelism", "two workers, busy all the time",
       [](CaseBuilder& b) { b.Stall("decode", Cause::kCpu, 0.5); }, "the tuner sets them",
       [](CaseBuilder& b) { b.SpecOf<MapSpec>("decode").parallelism = Knob::Auto(); }},
      {"map-parallelism", "more workers than cores, of work that sleeps",
       [](CaseBuilder& b) {
         b.attribution.cpu.cores = 2;
         b.Stall("decode", Cause::kBlocked, 0.5);
       },
       "the work burns the cores that there are",
       [](CaseBuilder& b) {
         b.attribution.blame[0].cause = Cause::kCpuContention;
         b.UseOf("decode").cpu_ns = b.UseOf("decode").busy_ns;
       }},
      {"order", "finished elements are held back",
       [](CaseBuilder& b) { b.Stall("decode", Cause::kOrder, 0.2); }, "they are few",
       [](CaseBuilder& b) { b.attribution.blame[0].fraction = 0.04; }},
      {"autotune", "two maps that are both too slow",
       [](CaseBuilder& b) {
         b.Stall("decode", Cause::kCpu, 0.3);
         b.Stall("augment", Cause::kCpu, 0.2);
       },
       "one of them keeps up",
       [](CaseBuilder& b) { b.UseOf("augment").capacity_samples_per_s = 1e6; }},
      {"autotune", "two maps that are both too slow, again",
       [](CaseBuilder& b) {
         b.Stall("decode", Cause::kCpu, 0.3);
         b.Stall("augment", Cause::kCpu, 0.2);
       },
       "one of them waits for a disk",
       [](CaseBuilder& b) { b.UseOf("augment").io_ns = b.UseOf("augment").busy_ns; }},
      {"vectorise", "a map of nothing but values",
       [](CaseBuilder& b) {
         b.spec.stages.insert(b.spec.stages.begin() + 4,
                              {"norm", MapSpec{.ops = {"normalize"}, .parallelism = {2, false}}});
         b.TakeStagesFromSpec();
         b.Stall("norm", Cause::kCpu, 0.3);
       },
       "its elements have no one size",
       [](CaseBuilder& b) { b.SpecOf<MapSpec>("augment").ops = {"flip"}; }},
      {"vectorise", "a shuffle and a repeat between it and the batch",
       [](CaseBuilder& b) {
         b.spec.rewrites.vectorise = true;
         b.spec.stages.insert(b.spec.stages.begin() + 4, {{"norm", MapSpec{.ops = {"normalize"}}},
                                                          {"mix", ShuffleSpec{.buffer_size = 64}},
                                                          {"again", RepeatSpec{}}});
         b.TakeStagesFromSpec();
         b.Stall("norm", Cause::kCpu, 0.3);
       },
       "a filter looks at what it makes",
       [](CaseBuilder& b) {
         b.spec.stages[5] = {"mix", FilterSpec{"min_bytes(9)"}};
         b.run.stages[5].kind = "filter";
       }},
      {"map-fusion", "two maps of a few microseconds", CheapMaps,
       "one keeps the order and the other does not",
       [](CaseBuilder& b) { b.SpecOf<MapSpec>("decode").deterministic = false; }},
      {"map-and-batch", "the batch copies",
       [](CaseBuilder& b) { b.Stall("batch", Cause::kCpu, 0.4); },
       "the map before does not keep the order",
       [](CaseBuilder& b) { b.SpecOf<MapSpec>("augment").deterministic = false; }},
      {"redundant-work", "a cast that normalize does anyway",
       [](CaseBuilder& b) {
         b.SpecOf<MapSpec>("augment").ops = {"random_resized_crop(224)", "cast(float32)",
                                             "normalize"};
         b.Stall("augment", Cause::kCpu, 0.4);
       },
       "there is none",
       [](CaseBuilder& b) {
         b.SpecOf<MapSpec>("augment").ops = {"random_resized_crop(224)", "normalize"};
       }},
      {"redundant-work", "a crop to the size that the image has",
       [](CaseBuilder& b) {
         b.SpecOf<MapSpec>("augment").ops = {"random_resized_crop(224)", "crop(224)"};
         b.Stall("augment", Cause::kCpu, 0.4);
       },
       "it is smaller",
       [](CaseBuilder& b) {
         b.SpecOf<MapSpec>("augment").ops = {"random_resized_crop(224)", "crop(192)"};
       }},
      {"redundant-work", "two scales that are one",
       [](CaseBuilder& b) {
         b.SpecOf<MapSpec>("augment").ops = {"random_resized_crop(224)", "scale(0.5)", "scale(3)"};
         b.Stall("augment", Cause::kCpu, 0.4);
       },
       "the values that they give would change",
       [](CaseBuilder& b) {
         b.SpecOf<MapSpec>("augment").ops = {"random_resized_crop(224)", "scale(0.3, offset=1)",
                                             "scale(0.7)"};
       }},
      {"redundant-work", "a picture that is resized and resized again",
       [](CaseBuilder& b) {
         b.SpecOf<MapSpec>("augment").ops = {"resize(512)", "flip", "resize(160)"};
         b.Stall("augment", Cause::kCpu, 0.4);
       },
       "it is enlarged",
       [](CaseBuilder& b) {
         b.SpecOf<MapSpec>("augment").ops = {"resize(160)", "flip", "resize(512)"};
       }},
      {"redundant-work", "in the next map",
       [](CaseBuilder& b) {
         b.SpecOf<MapSpec>("decode").ops = {"decode_jpeg", "resize(512)"};
         b.SpecOf<MapSpec>("augment").ops = {"resize(160)"};
         b.Stall("decode", Cause::kCpu, 0.4);
       },
       "a part of it is cut out between",
       [](CaseBuilder& b) {
         b.SpecOf<MapSpec>("augment").ops = {"crop(256)", "resize(160)"};
       }},
      {"redundant-work", "a cast that the next map does anyway",
       [](CaseBuilder& b) {
         b.SpecOf<MapSpec>("decode").ops = {"decode_jpeg", "resize(224)", "cast(float32)"};
         b.SpecOf<MapSpec>("augment").ops = {"flip", "normalize"};
         b.Stall("decode", Cause::kCpu, 0.4);
       },
       "the next map needs floats",
       [](CaseBuilder& b) {
         b.SpecOf<MapSpec>("augment").ops = {"color_jitter", "normalize"};
       }},
      {"redundant-work", "a cast of no time, which the slow map behind it does anyway",
       [](CaseBuilder& b) {
         b.SpecOf<MapSpec>("decode").ops = {"decode_jpeg", "resize(224)", "cast(float32)"};
         b.SpecOf<MapSpec>("augment").ops = {"flip", "normalize"};
         b.Stall("augment", Cause::kCpu, 0.4);
       },
       "a cache between keeps its floats",
       [](CaseBuilder& b) {
         b.spec.stages.insert(b.spec.stages.begin() + 3, {"keep", CacheSpec{}});
       }},
      {"late-cast", "floats are flipped",
       [](CaseBuilder& b) {
         b.SpecOf<MapSpec>("augment").ops = {"random_resized_crop(224)", "normalize", "flip"};
         b.Stall("augment", Cause::kCpu, 0.4);
       },
       "bytes are flipped",
       [](CaseBuilder& b) {
         b.SpecOf<MapSpec>("augment").ops = {"random_resized_crop(224)", "flip", "normalize"};
       }},
      {"decode-scaled", "large pictures for small crops",
       [](CaseBuilder& b) {
         b.SpecOf<MapSpec>("decode").ops = {"decode_jpeg", "resize(64)"};
         b.ReadElements(200, 4, 100'000);
         b.Stall("decode", Cause::kCpu, 0.5);
       },
       "the pictures may be small",
       [](CaseBuilder& b) {
         for (auto& element : b.run.rows.elements) element.bytes = 9'000;
       }},
      {"decode-scaled", "the next map behind a shuffle makes them small",
       [](CaseBuilder& b) {
         b.SpecOf<MapSpec>("augment").ops = {"resize(64)"};
         InsertBehindDecode(b, ShuffleSpec{64});
         b.ReadElements(200, 4, 100'000);
         b.Stall("decode", Cause::kCpu, 0.5);
       },
       "behind a cache it does",
       [](CaseBuilder& b) { b.StageSpecOf("between").kind = CacheSpec{}; }},
      {"decode-crop", "whole pictures for a crop",
       [](CaseBuilder& b) {
         b.SpecOf<MapSpec>("decode").ops = {"decode_jpeg", "crop(224)"};
         b.Stall("decode", Cause::kCpu, 0.5);
       },
       "it is decoded for the crop already",
       [](CaseBuilder& b) {
         b.SpecOf<MapSpec>("decode").ops = {"decode_jpeg(crop=true)", "crop(224)"};
       }},
      {"decode-crop", "whole pictures for a crop in the next map",
       [](CaseBuilder& b) { b.Stall("decode", Cause::kCpu, 0.5); }, "a shuffle keeps the two apart",
       [](CaseBuilder& b) { InsertBehindDecode(b, ShuffleSpec{64}); }},
      {"loader-workers", "the trainer's thread loads the batches",
       [](CaseBuilder& b) {
         b.run.stages[b.IdOf("decode").value].kind = "dataloader";
         b.UseOf("decode").workers = 1;
         b.Stall("decode", Cause::kUnknown, 0.5);
       },
       "bursts only emptied what was made ahead",
       [](CaseBuilder& b) {
         for (auto& blame : b.attribution.blame) blame.cause = Cause::kBuffer;
       }},
      {"persistent-workers", "workers end and begin in the middle of the run",
       [](CaseBuilder& b) {
         b.run.stages[b.IdOf("decode").value].kind = "dataloader";
         b.Spend(attribution::Category::kInputStall, 0.1, findings::Bound::kInput);
         AddTwoEpochs(b, 30'000'000);
       },
       "an epoch's first batch takes as long where they stay, but its end is told at once",
       [](CaseBuilder& b) {
         b.run.tracks.resize(b.run.tracks.size() - 2);
         AddTwoEpochs(b, 15'000);
       }},
  };
}

}  // namespace stallscope::test
