#include "collectors/data/sample_render.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "collectors/data/csv_image.h"
#include "collectors/data/example.h"
#include "collectors/data/jpeg_decoder.h"
#include "collectors/data/jpeg_encoder.h"
#include "collectors/data/picture.h"

namespace stallscope::data {

struct SampleRenderer::Tools {
  explicit Tools(const GenerateOptions& options) : painter(options.width, options.height) {}
  PicturePainter painter;
  JpegEncoder encoder;
  JpegDecoder decoder;
  Tensor picture;
  Buffer jpeg;
};

SampleRenderer::SampleRenderer(const GenerateOptions& options)
    : options_(options), tools_(std::make_unique<Tools>(options)) {}
SampleRenderer::~SampleRenderer() = default;

Status SampleRenderer::Render(int64_t image, Sample& into) {
  const int label = LabelOf(options_.seed, image, options_.classes);
  into.label = label;
  into.bytes.Clear();
  const bool keeps_jpeg = options_.format == DataFormat::kImages;
  Buffer& jpeg = keeps_jpeg ? into.bytes : tools_->jpeg;
  tools_->painter.Paint(options_.seed, static_cast<uint64_t>(image), label, tools_->picture);
  JpegEncodeOptions encode;
  encode.quality = options_.quality;
  STALLSCOPE_RETURN_IF_ERROR(tools_->encoder.Encode(tools_->picture, encode, jpeg));
  if (keeps_jpeg) return {};
  if (options_.format == DataFormat::kTfRecord) {
    const Example example = {{"image/encoded", BytesList{std::string(AsText(jpeg))}},
                             {"image/class/label", Int64List{label}},
                             {"image/height", Int64List{options_.height}},
                             {"image/width", Int64List{options_.width}},
                             {"image/format", BytesList{"JPEG"}}};
    return SerializeExample(example, into.bytes);
  }
  const auto decoded = tools_->decoder.Decode(jpeg, {}, into.pixels);
  if (!decoded.ok()) return decoded.error();
  if (options_.format == DataFormat::kCsv) AppendCsvImage(label, into.pixels, into.bytes);
  return {};
}

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
  // Fewer threads do; Take says so where there is none.
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

}  // namespace stallscope::data
