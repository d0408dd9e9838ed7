// How fast trace events in JSON become runs.
//
//     trace_json_bench [Google Benchmark's options]
//     trace_json_bench write MIB FILE    a trace as PyTorch's profiler writes it
//     trace_json_bench columns FILE      size of its events in a run's columns
//
// The bar is simdjson's on-demand parser on the same text in the same process, six fields of each
// event, unused; for a packed file, unpacking it and nothing else.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "analyzer/base/splitmix.h"
#include "analyzer/importers/chrome/chrome.h"
#include "analyzer/importers/foreign/byte_source.h"

namespace {

using namespace stallscope;  // NOLINT(google-build-using-namespace)

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kBenchBytes = 128 * kMiB;
constexpr int kOpsAStep = 400;

// Events as PyTorch 2 writes them: an operator with shapes, its launch, the kernel, and the flow
// from the one to the other. Names repeat, times and correlations do not: it compresses 20 to 1,
// like real ones.
class KinetoWriter {
 public:
  std::string Head() const {
    return "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {\n      \"id\": 0, "
           "\"name\": \"NVIDIA A100-SXM4-40GB\", \"totalGlobalMem\": 42505273344\n    }\n  ],\n"
           "  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": 1751410836000000000,\n"
           "  \"traceEvents\": [";
  }

  // One step's events.
  void AppendStep(std::string& text) {
    const uint64_t begin = now_ns_;
    Annotation(text, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin,
               1'500'000);
    now_ns_ += 1'500'321;
    for (int i = 0; i < kOpsAStep; ++i) AppendOp(text, i);
    Annotation(text, fmt::format("ProfilerStep#{}", step_++), begin, now_ns_ - begin);
    now_ns_ += 12'345;
  }

  std::string Tail() const { return "\n  ],\n  \"traceName\": \"made.json\"\n}\n"; }

 private:
  static void Time(std::string& text, std::string_view key, uint64_t ns) {
    fmt::format_to(std::back_inserter(text), "\"{}\": {}.{:03}", key, ns / 1000, ns % 1000);
  }

  void Begin(std::string& text, std::string_view phase, std::string_view category,
             std::string_view name, int pid, int tid, uint64_t start_ns) {
    fmt::format_to(std::back_inserter(text),
                   "{}\n  {{\n    \"ph\": \"{}\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": {}, "
                   "\"tid\": {},\n    ",
                   first_ ? "" : ",", phase, category, name, pid, tid);
    first_ = false;
    Time(text, "ts", start_ns);
  }

  void Annotation(std::string& text, std::string_view name, uint64_t start_ns, uint64_t ns) {
    Begin(text, "X", "user_annotation", name, 4711, 4711, start_ns);
    text += ", ";
    Time(text, "dur", ns);
    fmt::format_to(std::back_inserter(text),
                   ",\n    \"args\": {{\n      \"External id\": {},\"Ev Idx\": {}\n    }}\n  }}",
                   external_, external_);
    ++external_;
  }

  void AppendOp(std::string& text, int i) {
    constexpr std::string_view kOps[] = {"aten::convolution", "aten::batch_norm", "aten::relu_",
                                         "aten::add_", "aten::addmm"};
    constexpr std::string_view kKernels[] = {
        "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_32x6_nn",
        "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, "
        "at::detail::Array<char*, 3> >(int, at::native::AddFunctor<float>, "
        "at::detail::Array<char*, 3>)",
        "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>"};
    const uint64_t at = now_ns_;
    const uint64_t launched = at + 3'000 + random_.Below(3'000);
    const uint64_t started = launched + 6'000 + random_.Below(2'000);
    const auto out = [&] { return std::back_inserter(text); };
    Begin(text, "X", "cpu_op", kOps[i % 5], 4711, 4711, at);
    text += ", ";
    Time(text, "dur", 14'000 + random_.Below(6'000));
    fmt::format_to(out(),
                   ",\n    \"args\": {{\n      \"External id\": {0},\"Sequence number\": {0}, "
                   "\"Fwd thread id\": 0, \"Record function id\": 0, \"Concrete Inputs\": "
                   "[\"\", \"[2, 2]\"], \"Input Dims\": [[32, 64, 56, 56], [64]], \"Ev Idx\": {0}\n"
                   "    }}\n  }}",
                   external_);
    Begin(text, "X", "cuda_runtime", "cudaLaunchKernel", 4711, 4711, launched);
    text += ", ";
    Time(text, "dur", 4'000 + random_.Below(2'500));
    fmt::format_to(out(),
                   ",\n    \"args\": {{\n      \"External id\": {}, \"cbid\": 211, "
                   "\"correlation\": {}\n    }}\n  }}",
                   external_, correlation_);
    Begin(text, "s", "ac2g", "ac2g", 4711, 4711, launched);
    fmt::format_to(out(), ", \"id\": {}\n  }}", correlation_);
    Begin(text, "X", "kernel", kKernels[i % 3], 0, 7, started);
    text += ", ";
    Time(text, "dur", 3'000 + random_.Below(12'000));
    fmt::format_to(out(),
                   ",\n    \"args\": {{\n      \"External id\": {}, \"queued\": 0, \"device\": 0, "
                   "\"context\": 1,\n      \"stream\": 7, \"correlation\": {},\n      "
                   "\"registers per thread\": 32,\n      \"shared memory\": 0,\n      "
                   "\"blocks per SM\": 7.111111,\n      \"warps per SM\": 28.444445,\n      "
                   "\"grid\": [768, 1, 1],\n      \"block\": [128, 1, 1],\n      "
                   "\"est. achieved occupancy %\": 44\n    }}\n  }}",
                   external_, correlation_);
    Begin(text, "f", "ac2g", "ac2g", 0, 7, started);
    fmt::format_to(out(), ", \"id\": {}, \"bp\": \"e\"\n  }}", correlation_);
    ++external_;
    ++correlation_;
    now_ns_ += 21'000 + random_.Below(20'000);
  }

  SplitMix64 random_{7};
  bool first_ = true;
  uint64_t now_ns_ = 4'484'035'640'366'471'000 / 1000;
  uint64_t step_ = 0;
  uint64_t external_ = 1;
  uint64_t correlation_ = 1;
};

void WriteTrace(uint64_t bytes, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  KinetoWriter writer;
  std::string text = writer.Head();
  for (uint64_t written = 0; written + text.size() < bytes;) {
    writer.AppendStep(text);
    if (text.size() < kMiB) continue;
    file << text;
    written += text.size();
    text.clear();
  }
  file << text << writer.Tail();
  if (!file.flush()) std::abort();
}

// The files are removed when the program ends.
struct Files {
  std::string plain = "/tmp/stallscope_json_bench." + std::to_string(getpid()) + ".json";
  std::string packed = plain + ".gz";
  std::string text;

  Files() {
    WriteTrace(kBenchBytes, plain);
    std::ifstream file(plain, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(file), {});
    const gzFile out = gzopen(packed.c_str(), "wb6");
    for (size_t at = 0; at < text.size(); at += kMiB) {
      const auto size = static_cast<unsigned>(std::min<size_t>(kMiB, text.size() - at));
      if (gzwrite(out, text.data() + at, size) != static_cast<int>(size)) std::abort();
    }
    if (gzclose(out) != Z_OK) std::abort();
  }
  ~Files() {
    std::remove(plain.c_str());
    std::remove(packed.c_str());
  }
};

const Files& TheFiles() {
  static const Files files;
  return files;
}

model::Run Import(const std::string& path) {
  auto source = importers::ByteSource::Open(path);
  if (!source.ok()) std::abort();
  auto run = importers::chrome::ReadTraceEvents(*source.value());
  if (!run.ok()) std::abort();
  return std::move(run).value();
}

void JsonToRun(benchmark::State& state, bool packed) {
  const Files& files = TheFiles();
  uint64_t spans = 0;
  for (auto _ : state) spans += model::CountSpans(Import(packed ? files.packed : files.plain));
  state.SetBytesProcessed(static_cast<int64_t>(files.text.size()) * state.iterations());
  state.SetItemsProcessed(static_cast<int64_t>(spans));
}
BENCHMARK_CAPTURE(JsonToRun, plain, false)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(JsonToRun, packed, true)->Unit(benchmark::kMillisecond)->UseRealTime();

void SixFields(benchmark::State& state) {
  const Files& files = TheFiles();
  static const simdjson::padded_string padded(files.text);
  simdjson::ondemand::parser parser;
  for (auto _ : state) {
    double sum = 0;
    size_t length = 0;
    simdjson::ondemand::document document;
    if (parser.iterate(padded).get(document) != simdjson::SUCCESS) std::abort();
    for (simdjson::ondemand::object event : document["traceEvents"]) {
      std::string_view text;
      double number = 0;
      for (const char* const key : {"ph", "cat", "name"}) {
        if (event.find_field(key).get_string().get(text) == simdjson::SUCCESS) {
          length += text.size();
        }
      }
      for (const char* const key : {"tid", "ts", "dur"}) {
        if (event.find_field(key).get_double().get(number) == simdjson::SUCCESS) sum += number;
      }
    }
    benchmark::DoNotOptimize(sum);
    benchmark::DoNotOptimize(length);
  }
  state.SetBytesProcessed(static_cast<int64_t>(files.text.size()) * state.iterations());
}
BENCHMARK(SixFields)->Unit(benchmark::kMillisecond)->UseRealTime();

void Inflate(benchmark::State& state) {
  const Files& files = TheFiles();
  for (auto _ : state) {
    auto source = importers::ByteSource::Open(files.packed);
    if (!source.ok()) std::abort();
    uint64_t bytes = 0;
    for (;;) {
      const auto block = source.value()->Next();
      if (!block.ok()) std::abort();
      if (block.value().empty()) break;
      bytes += block.value().size();
    }
    if (bytes != files.text.size()) std::abort();
  }
  state.SetBytesProcessed(static_cast<int64_t>(files.text.size()) * state.iterations());
}
BENCHMARK(Inflate)->Unit(benchmark::kMillisecond)->UseRealTime();

// What everyone else uses to unpack.
void ZlibInflate(benchmark::State& state) {
  const Files& files = TheFiles();
  std::string block(kMiB, '\0');
  for (auto _ : state) {
    const gzFile in = gzopen(files.packed.c_str(), "rb");
    gzbuffer(in, kMiB);
    uint64_t bytes = 0;
    for (int got = 1; got > 0; bytes += static_cast<uint64_t>(got)) {
      got = gzread(in, block.data(), static_cast<unsigned>(block.size()));
      if (got < 0) std::abort();
    }
    if (gzclose(in) != Z_OK || bytes != files.text.size()) std::abort();
  }
  state.SetBytesProcessed(static_cast<int64_t>(files.text.size()) * state.iterations());
}
BENCHMARK(ZlibInflate)->Unit(benchmark::kMillisecond)->UseRealTime();

int Columns(const std::string& path) {
  const model::Run run = Import(path);
  uint64_t bytes = run.rows.kernels.size() * sizeof(trace::Kernel) +
                   run.rows.copies.size() * sizeof(trace::Copy) +
                   run.rows.samples.size() * sizeof(trace::Sample);
  for (const model::Track& track : run.tracks) {
    bytes += track.spans.size() *
             (sizeof(int64_t) + sizeof(uint32_t) + sizeof(uint16_t) + sizeof(uint64_t));
  }
  std::printf("spans %llu bytes %llu\n", static_cast<unsigned long long>(model::CountSpans(run)),
              static_cast<unsigned long long>(bytes));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "write" && argc == 4) {
    WriteTrace(std::strtoull(argv[2], nullptr, 10) * kMiB, argv[3]);
    return 0;
  }
  if (command == "columns" && argc == 3) return Columns(argv[2]);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
