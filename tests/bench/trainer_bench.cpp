// What a step's matrix products cost on the host device, against the bare library with the same
// shapes, and the whole step. Real time: the work is done by the stream's thread.
#include <benchmark/benchmark.h>
#include <cblas.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "collectors/trainer/model.h"
#include "collectors/trainer/plan.h"

namespace {

using namespace stallscope;

template <class T>
T Must(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "trainer_bench: %s\n", result.error().Line().c_str());
  std::exit(1);
}

// The default mixer on 16 images of 224x224.
struct Step {
  std::unique_ptr<device::Device> on = Must(device::MakeDevice(device::Kind::kHost, {}));
  std::vector<device::Block> blocks;
  trainer::Program program;
  std::unique_ptr<device::Stream> stream = Must(on->NewStream("bench", trace::TrackKind::kStream));

  explicit Step(bool fuse) {
    TrainerSpec spec;
    spec.model.classes = 10;
    const trainer::BatchForm form{16, {224, 224, 3}, data::DType::kUint8};
    trainer::Plan plan = BuildPlan(spec, form, form.samples, true);
    RemoveDuplicates(plan);
    if (fuse) FuseElementwise(plan);
    const auto zeros = [&](uint64_t bytes) {
      blocks.push_back(Must(on->Allocate(bytes)));
      std::vector<uint8_t> values(bytes);
      device::CopyRequest copy;
      copy.device = blocks.back().address();
      copy.host = values.data();
      copy.bytes = bytes;
      if (!stream->Copy(copy).ok()) std::exit(1);
      return blocks.back().address();
    };
    const auto arena = static_cast<uint64_t>(plan.parameter_elements) * sizeof(float);
    trainer::Addresses at;
    at.activations = zeros(ActivationBytes(plan));
    at.images = zeros(static_cast<uint64_t>(form.values()));
    at.labels = zeros(static_cast<uint64_t>(form.samples) * sizeof(int32_t));
    at.weights = zeros(arena);
    at.gradients = at.reduced = zeros(arena);
    at.moment1 = zeros(arena);
    at.state = zeros(device::kStateValues * sizeof(float));
    program = Bind(plan, at);
  }
  ~Step() { stream.reset(); }

  void Run(const std::vector<device::Launch>& launches) {
    for (const device::Launch& launch : launches) {
      if (!stream->Run(launch, ItemId::None()).ok()) std::exit(1);
    }
    if (!stream->Synchronize().ok()) std::exit(1);
  }
  std::vector<device::Launch> Gemms() const {
    std::vector<device::Launch> gemms;
    for (const device::Launch& launch : program.compute) {
      if (launch.kernel == device::Kernel::kGemm) gemms.push_back(launch);
    }
    return gemms;
  }
};

double Flops(const std::vector<device::Launch>& gemms) {
  double flops = 0;
  for (const auto& g : gemms) flops += 2.0 * static_cast<double>(g.ints[2] * g.ints[3] * g.ints[4]);
  return flops;
}

void Gemms(benchmark::State& state) {
  Step step(false);
  const auto gemms = step.Gemms();
  for (auto _ : state) step.Run(gemms);
  state.counters["flops"] =
      benchmark::Counter(Flops(gemms), benchmark::Counter::kIsIterationInvariantRate);
}

void BareGemms(benchmark::State& state) {
  const Step step(false);
  const auto gemms = step.Gemms();
  const auto values = [](const device::Operand& operand) {
    return reinterpret_cast<float*>(operand.address);
  };
  for (auto _ : state) {
    for (const auto& g : gemms) {
      const auto m = static_cast<blasint>(g.ints[2]);
      const auto n = static_cast<blasint>(g.ints[3]);
      const auto k = static_cast<blasint>(g.ints[4]);
      cblas_sgemm(CblasRowMajor, g.ints[0] != 0 ? CblasTrans : CblasNoTrans,
                  g.ints[1] != 0 ? CblasTrans : CblasNoTrans, m, n, k, 1, values(g.in[0]),
                  g.ints[0] != 0 ? m : k, values(g.in[1]), g.ints[1] != 0 ? k : n, 0,
                  values(g.out[0]), n);
    }
  }
  state.counters["flops"] =
      benchmark::Counter(Flops(gemms), benchmark::Counter::kIsIterationInvariantRate);
}

void WholeStep(benchmark::State& state) {
  Step step(state.range(0) != 0);
  for (auto _ : state) {
    step.Run(step.program.compute);
    step.Run(step.program.update);
  }
  state.SetItemsProcessed(state.iterations() * 16);
}

BENCHMARK(Gemms)->UseRealTime();
BENCHMARK(BareGemms)->UseRealTime();
BENCHMARK(WholeStep)->Arg(0)->Arg(1)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
