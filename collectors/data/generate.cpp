#include "collectors/data/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "analyzer/base/splitmix.h"
#include "analyzer/base/thread.h"
#include "collectors/data/csv_image.h"
#include "collectors/data/example.h"
#include "collectors/data/image.h"
#include "collectors/data/jpeg.h"
#include "collectors/data/picture.h"
#include "collectors/data/set_place.h"
#include "collectors/data/set_writer.h"

namespace stallscope::data {
namespace {

Error BadOption(std::string what, std::string hint) {
  return Error{ErrorKind::kUsage, std::move(what), "", std::move(hint)};
}

Status CheckOptions(const GenerateOptions& options) {
  if (options.images < 1 || options.images > 100'000'000) {
    return BadOption(fmt::format("--images {} is out of range", options.images),
                     "use 1 to 100000000");
  }
  if (options.words < 0 || options.words > 100'000) {
    return BadOption(fmt::format("--text {} is out of range", options.words), "use 1 to 100000");
  }
  if (options.words > 0 && options.format != DataFormat::kTfRecord) {
    return BadOption(fmt::format("--text cannot be written as {}", Name(options.format)),
                     "use --format tfrecord");
  }
  const ImageLimits limits;
  if (options.width < 1 || options.height < 1 ||
      !CheckImageSize("the image", static_cast<uint32_t>(options.width),
                      static_cast<uint32_t>(options.height), limits)
           .ok()) {
    return BadOption(fmt::format("--size {}x{} is out of range", options.width, options.height),
                     "use a size such as 500x375, of at most 67 million pixels");
  }
  if (options.classes < 1 || options.classes > 100'000) {
    return BadOption(fmt::format("--classes {} is out of range", options.classes),
                     "use 1 to 100000");
  }
  if (options.shards < 1 || options.shards > 99'999) {
    return BadOption(fmt::format("--shards {} is out of range", options.shards), "use 1 to 99999");
  }
  if (options.quality < 1 || options.quality > 100) {
    return BadOption(fmt::format("JPEG quality {} is out of range", options.quality),
                     "use 1 to 100");
  }
  return {};
}

std::string MakeText(const GenerateOptions& options, int64_t text, int label) {
  constexpr uint64_t kWords = 1000;  // that there are
  SplitMix64 random(SplitMix(options.seed) + static_cast<uint64_t>(text) * kSplitMixStep);
  const auto shortest = static_cast<uint64_t>(std::max(options.words / 4, 1));
  const uint64_t octave = shortest << random.Below(4);
  const uint64_t length = octave + random.Below(octave + 1);
  const auto classes = static_cast<uint64_t>(options.classes);
  std::string words;
  for (uint64_t i = 0; i < length; ++i) {
    uint64_t word = random.Below(kWords);
    if (random.Below(2) == 0) word = word / classes * classes + static_cast<uint64_t>(label);
    words += (i == 0 ? "w" : " w") + std::to_string(word);
  }
  return words;
}

// Renders samples; belongs to one thread.
class SampleRenderer {
 public:
  explicit SampleRenderer(const GenerateOptions& options)
      : options_(options), painter_(options.width, options.height) {}

  Status Render(int64_t image, Sample& into) {
    const int label = LabelOf(options_.seed, image, options_.classes);
    into.label = label;
    into.bytes.Clear();
    if (options_.words > 0) {
      return SerializeExample(TextExample(MakeText(options_, image, label), label), into.bytes);
    }
    into.name = fmt::format("{}/img_{:08}.jpg", ClassFolder(label, options_.classes), image);
    const bool keeps_jpeg = options_.format == DataFormat::kImages;
    Buffer& jpeg = keeps_jpeg ? into.bytes : jpeg_;
    painter_.Paint(options_.seed, static_cast<uint64_t>(image), label, picture_);
    JpegEncodeOptions encode;
    encode.quality = options_.quality;
    STALLSCOPE_RETURN_IF_ERROR(encoder_.Encode(picture_, encode, jpeg));
    if (keeps_jpeg) return {};
    if (options_.format == DataFormat::kTfRecord) {
      return SerializeExample(ImageExample(jpeg, "JPEG", label, options_.height, options_.width),
                              into.bytes);
    }
    const auto decoded = decoder_.Decode(jpeg, {}, into.pixels);
    if (!decoded.ok()) return decoded.error();
    if (options_.format == DataFormat::kCsv) AppendCsvImage(label, into.pixels, into.bytes);
    return {};
  }

 private:
  const GenerateOptions& options_;
  PicturePainter painter_;
  JpegEncoder encoder_;
  JpegDecoder decoder_;
  Tensor picture_;
  Buffer jpeg_;
};

// Threads that render a bounded number of samples ahead of Take(). `options` must outlive it.
class SampleRender {
 public:
  explicit SampleRender(const GenerateOptions& options);
  ~SampleRender();  // stops and joins
  SampleRender(const SampleRender&) = delete;
  SampleRender& operator=(const SampleRender&) = delete;

  // The next sample, in order; swapped with `into`, whose memory is reused.
  Status Take(Sample& into);

 private:
  struct Slot {
    Sample sample;
    std::optional<Status> done;
  };
  void Work();

  const GenerateOptions& options_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::condition_variable room_;
  std::vector<Slot> slots_;  // image i uses slot i % slots_.size()
  int64_t next_ = 0;         // the next one to render
  int64_t taken_ = 0;
  bool stop_ = false;
  Status no_thread_;              // why no thread started
  std::optional<Error> failure_;  // of a thread
  ThreadGroup threads_;
};

SampleRender::SampleRender(const GenerateOptions& options) : options_(options) {
  const auto cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int wanted = options.threads > 0 ? options.threads : cores;
  const auto threads = static_cast<size_t>(std::clamp<int64_t>(options.images, 1, wanted));
  slots_.resize(threads * 2);
  const auto failed = [this](Error error) {
    {
      const std::lock_guard lock(mutex_);
      failure_ = std::move(error);
    }
    ready_.notify_one();
  };
  // Fewer threads will do; Take() reports it if none could start.
  while (no_thread_.ok() && threads_.size() < threads) {
    no_thread_ = threads_.Start([this] { Work(); }, failed);
  }
}

SampleRender::~SampleRender() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  room_.notify_all();
  threads_.Join();
}

void SampleRender::Work() {
  std::unique_ptr<SampleRenderer> renderer;
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto depth = static_cast<int64_t>(slots_.size());
    room_.wait(lock, [&] { return stop_ || next_ >= options_.images || next_ < taken_ + depth; });
    if (stop_ || next_ >= options_.images) return;
    const int64_t image = next_++;
    Slot& slot = slots_[static_cast<size_t>(image % depth)];
    lock.unlock();
    if (renderer == nullptr) renderer = std::make_unique<SampleRenderer>(options_);
    Status done = renderer->Render(image, slot.sample);
    lock.lock();
    slot.done = std::move(done);
    if (image == taken_) ready_.notify_one();
  }
}

Status SampleRender::Take(Sample& into) {
  if (threads_.size() == 0) return no_thread_;
  std::unique_lock lock(mutex_);
  Slot& slot = slots_[static_cast<size_t>(taken_) % slots_.size()];
  ready_.wait(lock, [&] { return slot.done.has_value() || failure_.has_value(); });
  if (failure_.has_value()) return *failure_;
  Status done = *std::exchange(slot.done, std::nullopt);
  std::swap(into, slot.sample);
  ++taken_;
  lock.unlock();
  room_.notify_all();
  return done;
}

Result<Manifest> WriteAll(const GenerateOptions& options, const OnProgress& on_progress) {
  SampleRender render(options);
  SetLayout layout{options.folder,
                   options.format,
                   options.images,
                   options.shards,
                   DType::kUint8,
                   {options.height, options.width, 3},
                   {}};
  for (int label = 0; options.format == DataFormat::kImages && label < options.classes; ++label) {
    layout.class_folders.push_back(ClassFolder(label, options.classes));
  }
  STALLSCOPE_ASSIGN_OR_RETURN(const auto writer, MakeSetWriter(std::move(layout)));
  Sample sample;
  for (int64_t image = 0; image < options.images; ++image) {
    STALLSCOPE_RETURN_IF_ERROR(render.Take(sample));
    STALLSCOPE_RETURN_IF_ERROR(writer->Write(image, sample));
    if (on_progress && !on_progress({image + 1, options.images})) {
      return Error{ErrorKind::kRun, "stopped; the partial data set is removed", options.folder, ""};
    }
  }
  const bool text = options.words > 0;
  Manifest manifest{options.format,
                    options.images,
                    text ? 0 : options.width,
                    text ? 0 : options.height,
                    options.classes,
                    options.seed,
                    options.shards,
                    text ? 0 : options.quality,
                    "",
                    {},
                    {}};
  STALLSCOPE_ASSIGN_OR_RETURN(manifest.files, writer->Finish());
  STALLSCOPE_RETURN_IF_ERROR(MeasureFiles(options.folder, manifest));
  STALLSCOPE_RETURN_IF_ERROR(WriteManifest(options.folder, manifest));
  return manifest;
}

}  // namespace

int LabelOf(uint64_t seed, int64_t image, int classes) {
  // A fixed stride through the classes, chosen per block, visits each class once: a shuffle without
  // a table.
  const auto count = static_cast<uint64_t>(classes);
  const auto block = static_cast<uint64_t>(image) / count;
  const auto place = static_cast<uint64_t>(image) % count;
  uint64_t mixed = (seed + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u + block;
  mixed = (mixed ^ (mixed >> 31)) * 0x94d049bb133111ebu;
  mixed ^= mixed >> 29;
  uint64_t stride = mixed % count;
  while (std::gcd(stride, count) != 1) stride = (stride + 1) % count;
  return static_cast<int>((place * stride + (mixed >> 32)) % count);
}

Result<Manifest> Generate(const GenerateOptions& given, const OnProgress& on_progress) {
  STALLSCOPE_RETURN_IF_ERROR(CheckOptions(given));
  GenerateOptions options = given;
  options.shards = options.format == DataFormat::kImages
                       ? 0
                       : static_cast<int>(std::min<int64_t>(options.shards, options.images));
  STALLSCOPE_ASSIGN_OR_RETURN(SetPlace place, SetPlace::Open(given.folder));
  options.folder = place.work();
  Result<Manifest> written = WriteAll(options, on_progress);
  if (!written.ok()) return place.Renamed(std::move(written).error());
  STALLSCOPE_RETURN_IF_ERROR(place.Publish());
  return written;
}

}  // namespace stallscope::data
