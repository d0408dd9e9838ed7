// The reference pipeline against the bare loop of what it must do: TFRecords of JPEGs of 500x375,
// decoded, a random part resized to 224x224, flipped, normalized, in batches of 32; on one core and
// on two. And the cost of handing an element from thread to thread.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "analyzer/spec/spec_json.h"
#include "collectors/data/example.h"
#include "collectors/data/generate.h"
#include "collectors/data/tfrecord.h"
#include "collectors/pipeline/element.h"
#include "collectors/pipeline/pipeline.h"
#include "collectors/pipeline/ring.h"
#include "tests/bench/bare_loop.h"

namespace {

using namespace stallscope;

constexpr int kPictures = 512;  // 50 MB: more than a cache holds
constexpr int kBatch = 32;
constexpr int kSide = 224;

[[noreturn]] void Stop(const Error& error) {
  std::fprintf(stderr, "pipeline_bench: %s\n", error.Line().c_str());
  std::exit(1);
}

// The files of the benchmarks, removed with the object.
class Files {
 public:
  Files() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "pipeline_bench.XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::exit(1);
    folder_ = pattern;
    data::GenerateOptions options;
    options.folder = folder_ + "/set";
    options.images = kPictures;
    const auto made = data::Generate(options);
    if (!made.ok()) Stop(made.error());
    for (const auto& file : made.value().files) Keep(options.folder + "/" + file.name);
  }
  ~Files() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string glob() const { return folder_ + "/set/*.tfrecord"; }
  const std::vector<data::Buffer>& jpegs() const { return jpegs_; }

 private:
  void Keep(const std::string& path) {
    auto reader = data::TfRecordReader::Open(path);
    if (!reader.ok()) Stop(reader.error());
    data::ExampleView view;
    for (;;) {
      const auto record = reader.value().Next();
      if (!record.ok()) Stop(record.error());
      if (!record.value().has_value()) return;
      if (!view.Reset(record.value()->payload).ok()) std::exit(1);
      jpegs_.emplace_back().Append(OneBytes(*view.Find("image/encoded")).value());
    }
  }

  std::string folder_;
  std::vector<data::Buffer> jpegs_;
};

const Files& TheFiles() {
  static const Files files;
  return files;
}

// Drawn like the op random_resized_crop's.
data::Rect RandomPart(int width, int height, std::mt19937_64& random) {
  std::uniform_real_distribution<double> area(0.08, 1.0);
  std::uniform_real_distribution<double> ratio(std::log(3.0 / 4.0), std::log(4.0 / 3.0));
  for (;;) {
    const double target = width * height * area(random);
    const double sides = std::exp(ratio(random));
    const int w = static_cast<int>(std::lround(std::sqrt(target * sides)));
    const int h = static_cast<int>(std::lround(std::sqrt(target / sides)));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    return {std::uniform_int_distribution<int>(0, width - w)(random),
            std::uniform_int_distribution<int>(0, height - h)(random), w, h};
  }
}

void Bare(benchmark::State& state, bench::PixelBytes pixel_bytes) {
  const auto& jpegs = TheFiles().jpegs();
  bench::BareLoop loop(pixel_bytes);
  std::mt19937_64 random(static_cast<uint64_t>(state.thread_index()) + 1);
  size_t at = static_cast<size_t>(state.thread_index()) * kPictures / 2;
  for (auto _ : state) {
    for (int i = 0; i < kBatch; ++i) {
      benchmark::DoNotOptimize(
          loop.Run(jpegs[at++ % kPictures], RandomPart(500, 375, random), kSide));
    }
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK_CAPTURE(Bare, Rgb, bench::PixelBytes::kThree)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Bare, Rgbx, bench::PixelBytes::kFour)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Bare, Rgbx, bench::PixelBytes::kFour)
    ->Unit(benchmark::kMillisecond)
    ->Threads(2)
    ->UseRealTime();

std::string SpecText(int workers, const std::string& rewrites) {
  return fmt::format(
      R"json({{"seed": 7, "stages": [
         {{"name": "read", "source": {{"format": "tfrecord", "files": ["{}"]}}}},
         {{"name": "again", "repeat": {{}}}},
         {{"name": "map", "map": {{"parallelism": {}, "ops": ["decode_jpeg",
            "random_resized_crop({})", "flip", "normalize"]}}}},
         {{"name": "batch", "batch": {{"size": {}, "drop_remainder": true}}}}{}],
         "rewrites": {{{}}}}})json",
      TheFiles().glob(), workers, kSide, kBatch,
      workers > 1 ? R"(, {"name": "prefetch", "prefetch": {"buffer_size": 2}})" : "", rewrites);
}

void TakeBatch(pipeline::Pipeline& running) {
  auto next = running.Next();
  if (!next.ok()) Stop(next.error());
  benchmark::DoNotOptimize(next.value()->value.data());
  running.Recycle(std::move(*next.value()));
}

// The range: the number of workers. With one there is a single thread, which also reads and
// batches.
void Pipeline(benchmark::State& state, const char* rewrites) {
  const auto spec = ReadSpec(SpecText(static_cast<int>(state.range(0)), rewrites), "spec");
  if (!spec.ok()) Stop(spec.error());
  auto built = pipeline::Pipeline::Build(spec.value(), {});
  if (!built.ok()) Stop(built.error());
  for (int i = 0; i < 4; ++i) TakeBatch(*built.value());  // first touches of memory
  for (auto _ : state) TakeBatch(*built.value());
  state.SetItemsProcessed(state.iterations() * kBatch);
}
void OneAndTwoCores(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
}
BENCHMARK_CAPTURE(Pipeline, AsWritten, "")->Apply(OneAndTwoCores);
BENCHMARK_CAPTURE(Pipeline, Joined, R"("map_and_batch": true)")->Apply(OneAndTwoCores);
BENCHMARK_CAPTURE(Pipeline, OnlyCrop, R"("crop_aware_decode": true)")->Apply(OneAndTwoCores);
BENCHMARK_CAPTURE(Pipeline, OnlyCropJoined, R"("crop_aware_decode": true, "map_and_batch": true)")
    ->Apply(OneAndTwoCores);

// One thread pushes as fast as it can, one pops.
template <class T>
void HandOver(benchmark::State& state) {
  constexpr int kItems = 500'000;
  const auto places = static_cast<uint64_t>(state.range(0));
  for (auto _ : state) {
    pipeline::CancelToken token;
    pipeline::Ring<T> ring(QueueId::None(), places, places, token);
    std::thread pusher([&ring] {
      for (int i = 0; i < kItems; ++i) ring.Push(ring.DrawTicket(), T(), [] {});
    });
    T item;
    for (int i = 0; i < kItems; ++i) benchmark::DoNotOptimize(ring.Pop(item));
    pusher.join();
  }
  state.SetItemsProcessed(state.iterations() * kItems);
}
BENCHMARK(HandOver<uint64_t>)->Arg(64)->UseRealTime();
BENCHMARK(HandOver<pipeline::Element>)->Arg(2)->Arg(8)->Arg(64)->UseRealTime();

// What the machine itself needs for a handover and an answer.
void CacheLineThereAndBack(benchmark::State& state) {
  constexpr int64_t kTimes = 200'000;
  struct alignas(64) Line {
    std::atomic<int64_t> value{0};
  };
  for (auto _ : state) {
    Line there;
    Line back;
    std::thread answers([&] {
      for (int64_t i = 1; i <= kTimes; ++i) {
        while (there.value.load(std::memory_order_acquire) != i) {
        }
        back.value.store(i, std::memory_order_release);
      }
    });
    for (int64_t i = 1; i <= kTimes; ++i) {
      there.value.store(i, std::memory_order_release);
      while (back.value.load(std::memory_order_acquire) != i) {
      }
    }
    answers.join();
  }
  state.counters["ns"] = benchmark::Counter(
      static_cast<double>(kTimes) * static_cast<double>(state.iterations()) * 1e-9,
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(CacheLineThereAndBack)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
