// What reading and decoding cost: records with their CRC against plain read(2) and the CRC of the
// same file in the page cache, and images from bytes to normalized floats, on one core.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "collectors/data/buffer.h"
#include "collectors/data/csv_image.h"
#include "collectors/data/example.h"
#include "collectors/data/generate.h"
#include "collectors/data/image.h"
#include "collectors/data/jpeg.h"
#include "collectors/data/tfrecord.h"

namespace {

using namespace stallscope;

constexpr int kPictures = 128;
constexpr int kCopies = 24;  // of each: 250 MB in all, more than any cache

[[noreturn]] void Stop(const Error& error) {
  std::fprintf(stderr, "data_bench: %s\n", error.Line().c_str());
  std::exit(1);
}

// The files of the benchmarks, removed with the object.
class Files {
 public:
  Files() {
    std::string pattern = (std::filesystem::temp_directory_path() / "data_bench.XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::exit(1);
    folder_ = pattern;
    data::GenerateOptions options;
    options.folder = folder_ + "/set";
    options.images = kPictures;
    options.shards = 1;
    const auto made = data::Generate(options);
    if (!made.ok()) Stop(made.error());
    Keep(options.folder + "/" + made.value().files[0].name);
    auto writer = data::TfRecordWriter::Create(records());
    if (!writer.ok()) Stop(writer.error());
    for (int i = 0; i < kCopies; ++i) {
      for (const data::Buffer& example : examples_) {
        if (const Status done = writer.value().Write(example); !done.ok()) Stop(done.error());
      }
    }
    if (const Status done = writer.value().Finish(); !done.ok()) Stop(done.error());
  }
  ~Files() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::string records() const { return folder_ + "/records"; }
  const std::vector<data::Buffer>& jpegs() const { return jpegs_; }
  const std::vector<data::Buffer>& examples() const { return examples_; }

 private:
  void Keep(const std::string& path) {
    auto reader = data::TfRecordReader::Open(path);
    data::ExampleView view;
    for (;;) {
      const auto record = reader.value().Next();
      if (!record.ok()) Stop(record.error());
      if (!record.value().has_value()) return;
      examples_.emplace_back().Append(record.value()->payload);
      if (!view.Reset(record.value()->payload).ok()) std::exit(1);
      jpegs_.emplace_back().Append(OneBytes(*view.Find("image/encoded")).value());
    }
  }

  std::string folder_;
  std::vector<data::Buffer> examples_;
  std::vector<data::Buffer> jpegs_;
};

const Files& TheFiles() {
  static const Files files;
  return files;
}

// The least that reading with a checksum can cost, at the given block size in KiB.
void PlainReadAndCrc(benchmark::State& state) {
  const std::string path = TheFiles().records();
  data::Buffer block(static_cast<size_t>(state.range(0)) << 10);
  int64_t bytes = 0;
  for (auto _ : state) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    uint32_t crc = 0;
    for (;;) {
      const ssize_t got = read(fd, block.data(), block.size());
      if (got <= 0) break;
      crc = data::Crc32c(block.view().first(static_cast<size_t>(got)), crc);
      bytes += got;
    }
    close(fd);
    benchmark::DoNotOptimize(crc);
  }
  state.SetBytesProcessed(bytes);
}
BENCHMARK(PlainReadAndCrc)->Arg(128)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);

void TfRecordRead(benchmark::State& state) {
  const std::string path = TheFiles().records();
  data::ReadOptions options;
  options.block_bytes = static_cast<size_t>(state.range(0)) << 10;
  int64_t bytes = 0;
  int64_t records = 0;
  for (auto _ : state) {
    auto reader = data::TfRecordReader::Open(path, options);
    for (;;) {
      const auto record = reader.value().Next();
      if (!record.ok()) Stop(record.error());
      if (!record.value().has_value()) break;
      bytes += static_cast<int64_t>(record.value()->length);
      ++records;
    }
  }
  state.SetBytesProcessed(bytes);
  state.SetItemsProcessed(records);
}
BENCHMARK(TfRecordRead)->Arg(128)->Arg(256)->Arg(1024)->Unit(benchmark::kMillisecond);

void FindTwoFeatures(benchmark::State& state) {
  data::ExampleView view;
  size_t i = 0;
  for (auto _ : state) {
    if (!view.Reset(TheFiles().examples()[i++ % kPictures]).ok()) std::exit(1);
    benchmark::DoNotOptimize(OneBytes(*view.Find("image/encoded")).value().data());
    benchmark::DoNotOptimize(OneInt64(*view.Find("image/class/label")).value());
  }
}
BENCHMARK(FindTwoFeatures);

// Parts of a random resized crop: area of 8% to 100%, sides of 3:4 to 4:3.
data::Rect RandomPart(int width, int height, uint32_t& random) {
  const auto unit = [&] {
    random = random * 1664525u + 1013904223u;
    return static_cast<double>(random >> 8) / (1 << 24);
  };
  const double area = (0.08 + 0.92 * unit()) * width * height;
  const double ratio = 0.75 + (4.0 / 3 - 0.75) * unit();
  data::Rect part;
  part.width = std::clamp(static_cast<int>(std::sqrt(area * ratio)), 1, width);
  part.height = std::clamp(static_cast<int>(std::sqrt(area / ratio)), 1, height);
  part.x = static_cast<int>(unit() * (width - part.width + 1));
  part.y = static_cast<int>(unit() * (height - part.height + 1));
  return part;
}

enum Work { kFull, kScaled, kCropOnly, kPipeline, kPipelineCropOnly };

void Decode(benchmark::State& state, Work work) {
  data::JpegDecoder decoder;
  data::Resizer resizer;
  data::Tensor image;
  data::Tensor resized;
  data::Tensor normal;
  uint32_t random = 1;
  size_t i = 0;
  const data::NormalizeBy by = data::ImageNetNormalization();
  for (auto _ : state) {
    const data::Rect part = RandomPart(500, 375, random);
    data::JpegDecodeOptions options;
    if (work == kScaled) options.scale = 4;
    if (work == kCropOnly || work == kPipelineCropOnly) options.crop = part;
    const auto decoded = decoder.Decode(TheFiles().jpegs()[i++ % kPictures], options, image);
    if (!decoded.ok()) Stop(decoded.error());
    if (work == kPipeline || work == kPipelineCropOnly) {
      const data::Rect from = work == kPipeline ? part : data::Rect{0, 0, part.width, part.height};
      if (!resizer.Resize(image, from, 224, 224, resized).ok()) std::exit(1);
      if (!Normalize(resized, by, normal).ok()) std::exit(1);
      benchmark::DoNotOptimize(normal.data());
    }
    benchmark::DoNotOptimize(image.data());
  }
  state.SetItemsProcessed(static_cast<int64_t>(i));
}
BENCHMARK_CAPTURE(Decode, Full, kFull)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Decode, Half, kScaled)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Decode, RandomPart, kCropOnly)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Decode, ResizeNormalize, kPipeline)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(Decode, RandomPartResizeNormalize, kPipelineCropOnly)
    ->Unit(benchmark::kMicrosecond);

void ResizeAlone(benchmark::State& state) {
  data::JpegDecoder decoder;
  data::Resizer resizer;
  data::Tensor image;
  data::Tensor resized;
  if (!decoder.Decode(TheFiles().jpegs()[0], {}, image).ok()) std::exit(1);
  for (auto _ : state) {
    if (!resizer.Resize(image, {0, 0, 500, 375}, 224, 224, resized).ok()) std::exit(1);
    benchmark::DoNotOptimize(resized.data());
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(ResizeAlone)->Unit(benchmark::kMicrosecond);

void DecodeCsvRow(benchmark::State& state) {
  data::JpegDecoder decoder;
  data::Tensor image;
  if (!decoder.Decode(TheFiles().jpegs()[0], {}, image).ok()) std::exit(1);
  data::Buffer row;
  data::AppendCsvImage(1, image, row);
  const std::string_view text = data::AsText(row).substr(0, row.size() - 1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(data::DecodeCsvImage(text, image).value());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}
BENCHMARK(DecodeCsvRow)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
