// Figures of the CUDA device that need no training run; tests/gpu/run calls it and prints the
// table.
//
//   gpu_bench copies              pinned copies against a plain loop of cudaMemcpy, as ratios
//   gpu_bench overlap             how much of the shorter of a copy and a computation is hidden
//   gpu_bench graph [TRACE]       the host's time for launching a captured step, in microseconds
//   gpu_bench step SIDE COUNT [TRACE]
//       steps of COUNT products of SIDE x SIDE in a captured graph: microseconds per step, and the
//       device's busy time by the runtime's events
//
// With TRACE the run is recorded, through CUPTI where available. Prints one JSON object.
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/clock.h"
#include "collectors/device/device.h"
#include "collectors/recorder/recorder.h"

namespace {

using namespace stallscope;  // NOLINT(google-build-using-namespace)
using device::Kernel;
using device::Launch;

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "gpu_bench: %s\n", why.c_str());
  std::exit(5);
}
template <class T>
T Must(Result<T> result) {
  if (!result.ok()) Fail(result.error().Line());
  return std::move(result).value();
}
void Must(const Status& status) {
  if (!status.ok()) Fail(status.error().Line());
}
void MustCuda(cudaError_t code) {
  if (code != cudaSuccess) Fail(cudaGetErrorString(code));
}

// The recorder is destroyed after the device, whose last records it writes.
struct Gpu {
  std::unique_ptr<recorder::Recorder> recorder;
  std::unique_ptr<device::Device> on;

  explicit Gpu(const char* trace) {
    if (trace != nullptr) recorder = Must(recorder::Recorder::Start(trace, {}));
    device::Options options;
    options.recorder = recorder.get();
    on = Must(device::MakeDevice(device::Kind::kCuda, options));
    if (recorder == nullptr) return;
    const auto& can = on->capabilities();
    recorder->UpdateRun([&](trace::RunInfo& run) {
      run.name = "gpu_bench";
      run.device.kind = "cuda";
      run.device.name = can.name;
      run.device.memory_bytes = can.memory_bytes;
    });
  }
  ~Gpu() {
    on.reset();
    if (recorder == nullptr) return;
    const auto summary = recorder->Stop();
    if (!summary.first_error.empty()) Fail(summary.first_error);
  }
  std::unique_ptr<device::Stream> NewStream(const std::string& name, trace::TrackKind kind) const {
    return Must(on->NewStream(name, kind));
  }
};

// Pinned memory and as much on the device.
struct Pair {
  static constexpr size_t kBytes = size_t{64} << 20;
  device::Device& on;
  uint8_t* host;
  device::Block block;

  explicit Pair(device::Device& device)
      : on(device), host(device.AllocatePinned(kBytes)), block(Must(device.Allocate(kBytes))) {
    if (host == nullptr) Fail("no pinned memory");
  }
  ~Pair() { on.FreePinned(host, kBytes); }
  device::CopyRequest Request() const {
    device::CopyRequest copy;
    copy.device = block.address();
    copy.host = host;
    copy.bytes = kBytes;
    return copy;
  }
};

// Products of two square float16 matrices, on tensor cores.
struct Work {
  device::Block a, b, c;
  Launch launch;

  Work(device::Device& on, int64_t side) {
    const auto bytes = static_cast<size_t>(side * side) * 2;
    a = Must(on.Allocate(bytes));
    b = Must(on.Allocate(bytes));
    c = Must(on.Allocate(bytes));
    const auto operand = [&](const device::Block& block) {
      return device::Operand{block.address(), side * side, device::Type::kFloat16};
    };
    launch.kernel = Kernel::kGemm;
    launch.in = {operand(a), operand(b)};
    launch.out = {operand(c)};
    launch.ints = {0, 0, side, side, side, 0};
    launch.floats = {1, 0};
  }
  void Clear(device::Stream& stream) const {
    Launch zero;
    zero.kernel = Kernel::kZero;
    for (const device::Operand& each : launch.in) {
      zero.out = {each};
      Must(stream.Run(zero, ItemId::None()));
    }
    Must(stream.Synchronize());
  }
};

double MicrosecondsOf(const std::function<void()>& work) {
  const int64_t began = MonotonicNs();
  work();
  return static_cast<double>(MonotonicNs() - began) / 1e3;
}

constexpr int kRounds = 15;

void Copies() {
  const Gpu gpu(nullptr);
  const auto stream = gpu.NewStream("copy", trace::TrackKind::kCopyEngine);
  const Pair pair(*gpu.on);
  constexpr int kCopies = 20;
  std::vector<double> ratios;
  std::vector<double> rates;
  for (int round = -1; round < kRounds; ++round) {  // the first is a warm-up
    const double plain = MicrosecondsOf([&] {
      for (int i = 0; i < kCopies; ++i) {
        MustCuda(cudaMemcpy(reinterpret_cast<void*>(pair.block.address()), pair.host, Pair::kBytes,
                            cudaMemcpyHostToDevice));
      }
    });
    const double ours = MicrosecondsOf([&] {
      for (int i = 0; i < kCopies; ++i) Must(stream->Copy(pair.Request()));
      Must(stream->Synchronize());
    });
    if (round < 0) continue;
    ratios.push_back(plain / ours);
    rates.push_back(static_cast<double>(Pair::kBytes) * kCopies / ours / 1e3);
  }
  fmt::print("{{\"ratio\": [{}], \"gb_per_s\": [{}]}}\n", fmt::join(ratios, ", "),
             fmt::join(rates, ", "));
}

void Overlap() {
  const Gpu gpu(nullptr);
  const auto copies = gpu.NewStream("copy", trace::TrackKind::kCopyEngine);
  const auto compute = gpu.NewStream("compute", trace::TrackKind::kStream);
  const Pair pair(*gpu.on);
  const Work work(*gpu.on, 4096);
  work.Clear(*compute);
  constexpr int kCopies = 16;
  const auto enqueue_copies = [&] {
    for (int i = 0; i < kCopies; ++i) Must(copies->Copy(pair.Request()));
  };
  int products = 16;
  const auto enqueue_products = [&] {
    for (int i = 0; i < products; ++i) Must(compute->Run(work.launch, ItemId::None()));
  };
  const auto both_done = [&] {
    Must(copies->Synchronize());
    Must(compute->Synchronize());
  };
  const auto alone = [&](const auto& enqueue) {
    return MicrosecondsOf([&] {
      enqueue();
      both_done();
    });
  };
  alone(enqueue_copies);
  alone(enqueue_products);
  // About as long as the copies.
  const double each = alone(enqueue_products) / products;
  products = std::max(1, static_cast<int>(alone(enqueue_copies) / each));
  std::vector<double> hidden;
  for (int round = 0; round < kRounds; ++round) {
    const double copy = alone(enqueue_copies);
    const double product = alone(enqueue_products);
    const double both = alone([&] {
      enqueue_copies();
      enqueue_products();
    });
    hidden.push_back((copy + product - both) / std::min(copy, product));
  }
  fmt::print("{{\"hidden\": [{}]}}\n", fmt::join(hidden, ", "));
}

// A step as the trainer launches one: some sixty small kernels.
void GraphLaunch(const char* trace) {
  const Gpu gpu(trace);
  const auto stream = gpu.NewStream("compute", trace::TrackKind::kStream);
  constexpr int64_t kElements = 4096;
  const auto x = Must(gpu.on->Allocate(kElements * sizeof(float)));
  Launch add;
  add.kernel = Kernel::kAdd;
  add.in = {{x.address(), kElements, device::Type::kFloat32},
            {x.address(), kElements, device::Type::kFloat32}};
  add.out = {add.in[0]};
  Must(stream->BeginCapture());
  for (int i = 0; i < 60; ++i) Must(stream->Run(add, ItemId::None()));
  const auto graph = Must(stream->EndCapture());
  std::vector<double> us;
  for (int step = 0; step < 2200; ++step) {
    const double took = MicrosecondsOf([&] { Must(stream->Run(graph, ItemId{1})); });
    Must(stream->Synchronize());
    if (step >= 200) us.push_back(took);
  }
  fmt::print("{{\"us\": [{}]}}\n", fmt::join(us, ", "));
}

void Steps(int64_t side, int count, const char* trace) {
  const Gpu gpu(trace);
  const auto stream = gpu.NewStream("compute", trace::TrackKind::kStream);
  const Work work(*gpu.on, side);
  work.Clear(*stream);
  Must(stream->BeginCapture());
  for (int i = 0; i < count; ++i) Must(stream->Run(work.launch, ItemId::None()));
  const auto graph = Must(stream->EndCapture());
  constexpr int kWarmUp = 50;
  constexpr int kSteps = 1000;
  const double ticks_per_us = [] {
    ClockMap map;
    map.Add(ReadClockAnchor());
    const int64_t until = MonotonicNs() + 50'000'000;
    while (MonotonicNs() < until) {
    }
    map.Add(ReadClockAnchor());
    return map.TicksPerSecond() / 1e6;
  }();
  std::vector<double> us;
  Ticks busy = 0;
  for (int step = 0; step < kWarmUp + kSteps; ++step) {
    const int64_t began_ns = MonotonicNs();
    const auto begun = Must(stream->Record());
    Must(stream->Run(graph, ItemId{static_cast<uint64_t>(step)}));
    const auto ended = Must(stream->Record());
    Must(ended->Wait());
    if (step >= kWarmUp) us.push_back(static_cast<double>(MonotonicNs() - began_ns) / 1e3);
    // For every step, including warm-up: the trace has them all.
    busy += ended->time() - begun->time();
  }
  std::sort(us.begin(), us.end());
  fmt::print("{{\"us\": {}, \"busy_us\": {}, \"steps\": {}}}\n", us[us.size() / 2],
             static_cast<double>(busy) / ticks_per_us, kWarmUp + kSteps);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "copies") {
    Copies();
  } else if (what == "overlap") {
    Overlap();
  } else if (what == "graph") {
    GraphLaunch(argc > 2 ? argv[2] : nullptr);
  } else if (what == "step" && argc > 3) {
    Steps(std::atoll(argv[2]), std::atoi(argv[3]), argc > 4 ? argv[4] : nullptr);
  } else {
    std::fprintf(stderr, "gpu_bench copies | overlap | graph [TRACE] | step SIDE COUNT [TRACE]\n");
    return 2;
  }
  return 0;
}
