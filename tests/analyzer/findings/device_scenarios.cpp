#include "tests/analyzer/findings/scenarios.h"

namespace stallscope::test {

using attribution::Category;
using attribution::Cause;
using findings::Bound;

namespace {

void TransferBound(CaseBuilder& b) {
  b.spec.transfer = {};
  b.Spend(Category::kTransfer, 0.4, Bound::kTransfer);
  b.CopyBatches(trace::CopyMemory::kPageable, 19'000'000);
}

// 148,400 pixels of each sample, four bytes each where they are copied.
void FromPixels(CaseBuilder& b, SourceFormat format) {
  b.spec.stages.erase(b.spec.stages.begin() + 2, b.spec.stages.begin() + 4);
  b.SpecOf<SourceSpec>("read").format = format;
  b.TakeStagesFromSpec();
  TransferBound(b);
  b.ReadElements(200, 4, 148'400);
}

void LaunchBound(CaseBuilder& b) {
  b.spec.trainer.graph = GraphMode::kEager;
  b.spec.trainer.fuse = false;
  b.Spend(Category::kLaunch, 0.4, Bound::kLaunch);
  b.attribution.kernels = {{b.Intern("add"), 100'000, 500'000'000, 1.0, false}};
}

void FillDevice(CaseBuilder& b, double share) {
  b.run.info.device.memory_bytes = uint64_t{10} << 30;
  b.attribution.memory.device_peak_bytes = static_cast<uint64_t>(share * 10.0 * (1 << 30));
}

void ReadValues(CaseBuilder& b, int64_t count) {
  model::Track detail;
  detail.info.kind = trace::TrackKind::kDetail;
  for (const char* const name : {"aten::_local_scalar_dense", "cudaStreamSynchronize"}) {
    trace::SpanClass what;
    what.kind = trace::SpanKind::kWork;
    what.activity = trace::SpanActivity::kOperator;
    what.name = b.Intern(name);
    b.run.span_classes.push_back(what);
  }
  const auto sync = static_cast<uint16_t>(b.run.span_classes.size() - 1);
  for (int64_t i = 0; i < count; ++i) {
    for (const uint16_t what : {static_cast<uint16_t>(sync - 1), sync}) {
      detail.spans.Append(1'000 * i, 500, what, ItemId::None());
    }
  }
  b.run.tracks.push_back(std::move(detail));
}

// As an importer counts them: how many so far, and how long they took.
void Count(CaseBuilder& b, const std::string& name, int64_t count, double ns_each) {
  const CounterId counts{static_cast<uint32_t>(b.run.counters.size())};
  b.run.counters.push_back({counts, name, ""});
  const CounterId times{counts.value + 1};
  b.run.counters.push_back({times, name + " time", "ns"});
  const attribution::Window& window = b.attribution.window;
  for (int64_t i = 1; i <= count; ++i) {
    const int64_t at = window.start_ns + window.ns() / (count + 1) * i;
    b.run.rows.samples.push_back({at, static_cast<double>(i), counts});
    b.run.rows.samples.push_back({at, static_cast<double>(i) * ns_each, times});
  }
}

}  // namespace

std::vector<Scenario> DeviceScenarios() {
  return {
      {"pinned-memory", "copies from pageable memory", TransferBound, "they are pinned",
       [](CaseBuilder& b) {
         b.spec.transfer.pinned = true;
         for (auto& copy : b.attribution.devices[0].copies)
           copy.memory = trace::CopyMemory::kPinned;
       }},
      {"copy-overlap", "the device waits for its copies", TransferBound,
       "they run beside computing", [](CaseBuilder& b) { b.spec.transfer.overlap = true; }},
      {"copy-size", "twenty small copies a step",
       [](CaseBuilder& b) {
         b.Spend(Category::kTransfer, 0.3, Bound::kTransfer);
         b.CopyBatches(trace::CopyMemory::kPinned, 4'000, 20);
       },
       "they are large", [](CaseBuilder& b) { b.attribution.devices[0].copies[0].bytes *= 100; }},
      {"copy-size", "eight streams copy a batch in pieces",
       [](CaseBuilder& b) {
         b.spec.transfer.streams = 8;
         b.Spend(Category::kTransfer, 0.3, Bound::kTransfer);
         b.CopyBatches(trace::CopyMemory::kPinned, 20'000, 7);
       },
       "one stream does", [](CaseBuilder& b) { b.spec.transfer.streams = 1; }},
      {"batch-size", "each small copy pays its latency",
       [](CaseBuilder& b) {
         b.Spend(Category::kTransfer, 0.4, Bound::kTransfer);
         b.CopyBatches(trace::CopyMemory::kPinned, 4'000);
       },
       "they are large", [](CaseBuilder& b) { b.attribution.devices[0].copies[0].bytes *= 1000; }},
      {"batch-size", "a narrow type leaves half of the device's memory",
       [](CaseBuilder& b) {
         b.spec.trainer.precision = Precision::kFp16;
         FillDevice(b, 0.4);
       },
       "it leaves less", [](CaseBuilder& b) { FillDevice(b, 0.6); }},
      {"memory-risk", "the device is almost full", [](CaseBuilder& b) { FillDevice(b, 0.9); },
       "it is not", [](CaseBuilder& b) { FillDevice(b, 0.8); }},
      {"memory-risk", "it is, in a narrow type",
       [](CaseBuilder& b) {
         b.spec.trainer.precision = Precision::kBf16;
         FillDevice(b, 0.9);
       },
       "its size is not known", [](CaseBuilder& b) { b.run.info.device.memory_bytes = 0; }},
      {"narrow-dtype", "bytes that are widened for the link", TransferBound, "bytes cross it",
       [](CaseBuilder& b) { b.spec.transfer.dtype = TransferDtype::kUint8; }},
      {"narrow-dtype", "floats that were bytes",
       [](CaseBuilder& b) {
         TransferBound(b);
         b.SpecOf<MapSpec>("augment").ops = {"random_resized_crop(224)", "flip", "normalize"};
       },
       "there is hardly a copy",
       [](CaseBuilder& b) {
         b.attribution.breakdown[attribution::At(Category::kTransfer)]->fraction = 0.04;
       }},
      {"narrow-dtype", "tensors of bytes, as they are in their files",
       [](CaseBuilder& b) { FromPixels(b, SourceFormat::kRaw); }, "they are of floats",
       [](CaseBuilder& b) {
         for (auto& element : b.run.rows.elements) element.bytes *= 4;
       }},
      {"narrow-dtype", "images as HDF5", [](CaseBuilder& b) { FromPixels(b, SourceFormat::kHdf5); },
       "they are generated bytes",
       [](CaseBuilder& b) { b.SpecOf<SourceSpec>("read").format = SourceFormat::kSynthetic; }},
      {"device-preprocessing", "the cores are what is short",
       [](CaseBuilder& b) {
         b.spec.stages.insert(b.spec.stages.begin() + 4,
                              {"norm", MapSpec{.ops = {"normalize"}, .parallelism = {2, false}}});
         b.TakeStagesFromSpec();
         b.Stall("norm", Cause::kCpu, 0.6);
       },
       "the device is a core itself", [](CaseBuilder& b) { b.run.info.device.kind = "host"; }},
      {"device-preprocessing", "the end of a map",
       [](CaseBuilder& b) { b.Stall("augment", Cause::kCpuContention, 0.6); },
       "the device has no room",
       [](CaseBuilder& b) {
         b.attribution.breakdown[attribution::At(Category::kCompute)]->fraction = 0.6;
       }},
      {"device-preprocessing", "of two maps with a repeat between, the first",
       [](CaseBuilder& b) {
         b.spec.stages.insert(b.spec.stages.begin() + 4,
                              {{"repeat", RepeatSpec{}}, {"norm", MapSpec{.ops = {"normalize"}}}});
         b.TakeStagesFromSpec();
         b.Stall("augment", Cause::kCpu, 0.6);
       },
       "a filter looks at what it makes",
       [](CaseBuilder& b) {
         b.spec.stages[4] = {"repeat", FilterSpec{"min_bytes(9)"}};
       }},
      {"captured-graph", "kernels are launched one by one", LaunchBound, "the graph is captured",
       [](CaseBuilder& b) { b.spec.trainer.graph = GraphMode::kCaptured; }},
      {"retracing", "half of the steps compile",
       [](CaseBuilder& b) { Count(b, "compilations", 50, 5'000'000); },
       "they did before the window",
       [](CaseBuilder& b) {
         for (auto& sample : b.run.rows.samples) sample.time_ns -= b.attribution.window.ns();
       }},
      {"eager-ops", "two hundred operations a step",
       [](CaseBuilder& b) { Count(b, "eager ops", 20'000, 10'000); }, "they take no time",
       [](CaseBuilder& b) {
         for (auto& sample : b.run.rows.samples) {
           if (sample.counter.value == 1) sample.value = 0;
         }
       }},
      {"kernel-fusion", "kernels of five microseconds", LaunchBound, "they are long",
       [](CaseBuilder& b) { b.attribution.kernels[0].count = 1000; }},
      {"batch-size", "launches for few samples", LaunchBound, "the device computes",
       [](CaseBuilder& b) {
         b.attribution.breakdown[attribution::At(Category::kLaunch)]->fraction = 0.04;
       }},
      {"drop-remainder", "a graph for each odd batch",
       [](CaseBuilder& b) {
         b.SpecOf<BatchSpec>("batch").drop_remainder = false;
         for (uint32_t i = 0; i < 100; ++i) {
           trace::Batch batch;
           batch.size = i % 20 == 19 ? 7 : 32;
           b.run.rows.batches.push_back(batch);
         }
       },
       "nothing is captured", [](CaseBuilder& b) { b.spec.trainer.graph = GraphMode::kEager; }},
      {"bucket-by-length", "a third of each batch is padding",
       [](CaseBuilder& b) {
         b.SpecOf<BatchSpec>("batch").pad = true;
         const CounterId padding{static_cast<uint32_t>(b.run.counters.size())};
         b.run.counters.push_back({padding, "padding", ""});
         for (int64_t i = 1; i < 100; ++i) {
           b.run.rows.samples.push_back({i * CaseBuilder::kStepNs, 0.33, padding});
         }
       },
       "a tenth is",
       [](CaseBuilder& b) {
         for (auto& sample : b.run.rows.samples) sample.value = 0.1;
       }},
      {"mixed-precision", "computing in float32",
       [](CaseBuilder& b) { b.spec.trainer.precision = Precision::kFp32; },
       "the device is emulated", [](CaseBuilder& b) { b.run.info.device.kind = "emulated"; }},
      {"mixed-precision", "an emulated device that is faster in bfloat16",
       [](CaseBuilder& b) {
         b.spec.trainer.precision = Precision::kTf32;
         b.spec.trainer.emulated.bf16_speed = 2;
         b.run.info.device.kind = "emulated";
       },
       "it is as fast in tf32", [](CaseBuilder& b) { b.spec.trainer.emulated.tf32_speed = 2; }},
      {"loss-scale", "it stays at 1",
       [](CaseBuilder& b) {
         b.spec.trainer.precision = Precision::kFp16;
         b.spec.trainer.loss_scale.initial = 1;
       },
       "it doubles often", [](CaseBuilder& b) { b.spec.trainer.loss_scale.growth_interval = 5; }},
      {"loss-scale", "one step in ten is thrown away",
       [](CaseBuilder& b) {
         b.spec.trainer.precision = Precision::kFp16;
         for (size_t i = 0; i < 100; i += 10) b.run.rows.steps[i].loss_scale_skipped = 1;
       },
       "one in all",
       [](CaseBuilder& b) {
         for (size_t i = 10; i < 100; i += 10) b.run.rows.steps[i].loss_scale_skipped = 0;
       }},
      {"strategy", "the reduction is not hidden",
       [](CaseBuilder& b) {
         b.spec.trainer.strategy = {StrategyKind::kParameterServer, 4};
         b.Spend(Category::kCommunication, 0.3, Bound::kCommunication);
       },
       "it is",
       [](CaseBuilder& b) {
         b.attribution.breakdown[attribution::At(Category::kCommunication)]->fraction = 0.04;
       }},
      {"idle-device", "the second device does nothing",
       [](CaseBuilder& b) {
         attribution::DeviceUse idle;
         idle.device = 1;
         b.attribution.devices.push_back(idle);
       },
       "it does half of the work",
       [](CaseBuilder& b) { b.attribution.devices[1].busy_ns = b.attribution.devices[0].busy_ns; }},
      {"sync-points", "the loss is read in every step",
       [](CaseBuilder& b) {
         b.spec.transfer.overlap = false;
         b.Spend(Category::kSync, 0.4, Bound::kBalanced);
       },
       "now and then",
       [](CaseBuilder& b) {
         b.attribution.breakdown[attribution::At(Category::kSync)]->fraction = 0.1;
       }},
      {"sync-points", "each of two profiled steps reads four values",
       [](CaseBuilder& b) {
         b.run.info.job.command = {"python", "train.py"};
         b.with_spec = false;
         b.Spend(Category::kLaunch, 0.4, Bound::kLaunch);
         b.attribution.window.profiled = {0, CaseBuilder::kStepNs, 0, 2, 2};
         ReadValues(b, 8);
       },
       "each of four, two", [](CaseBuilder& b) { b.attribution.window.profiled->rows = 4; }},
  };
}

}  // namespace stallscope::test
