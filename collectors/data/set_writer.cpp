#include "collectors/data/set_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "analyzer/base/file.h"
#include "collectors/data/csv_image.h"
#include "collectors/data/example.h"
#include "collectors/data/hdf5_images.h"
#include "collectors/data/jpeg.h"
#include "collectors/data/picture.h"
#include "collectors/data/tfrecord.h"

namespace stallscope::data {
namespace {

// Renders samples; belongs to one thread.
class SampleRenderer {
 public:
  explicit SampleRenderer(const GenerateOptions& options)
      : options_(options), painter_(options.width, options.height) {}

  Status Render(int64_t image, Sample& into) {
    const int label = LabelOf(options_.seed, image, options_.classes);
    into.label = label;
    into.bytes.Clear();
    const bool keeps_jpeg = options_.format == DataFormat::kImages;
    Buffer& jpeg = keeps_jpeg ? into.bytes : jpeg_;
    painter_.Paint(options_.seed, static_cast<uint64_t>(image), label, picture_);
    JpegEncodeOptions encode;
    encode.quality = options_.quality;
    STALLSCOPE_RETURN_IF_ERROR(encoder_.Encode(picture_, encode, jpeg));
    if (keeps_jpeg) return {};
    if (options_.format == DataFormat::kTfRecord) {
      const Example example = {{"image/encoded", BytesList{std::string(AsText(jpeg))}},
                               {"image/class/label", Int64List{label}},
                               {"image/height", Int64List{options_.height}},
                               {"image/width", Int64List{options_.width}},
                               {"image/format", BytesList{"JPEG"}}};
      return SerializeExample(example, into.bytes);
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

// A file of a sharded set, one class per format.
class TfRecordShard {
 public:
  static constexpr const char* kEnding = "tfrecord";
  static Result<TfRecordShard> Create(const std::string& path, const GenerateOptions&, int64_t) {
    STALLSCOPE_ASSIGN_OR_RETURN(TfRecordWriter writer, TfRecordWriter::Create(path));
    return TfRecordShard(std::move(writer));
  }
  Status Write(const Sample& sample) { return writer_.Write(sample.bytes); }
  Status Finish() { return writer_.Finish(); }

 private:
  explicit TfRecordShard(TfRecordWriter writer) : writer_(std::move(writer)) {}
  TfRecordWriter writer_;
};

class CsvShard {
 public:
  static constexpr const char* kEnding = "csv";
  static Result<CsvShard> Create(const std::string& path, const GenerateOptions& options, int64_t) {
    STALLSCOPE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path));
    STALLSCOPE_RETURN_IF_ERROR(file.Append(CsvImageHeader(options.height, options.width)));
    return CsvShard(std::move(file));
  }
  Status Write(const Sample& sample) { return file_.Append(AsText(sample.bytes)); }
  Status Finish() { return file_.Publish(); }

 private:
  explicit CsvShard(OutputFile file) : file_(std::move(file)) {}
  OutputFile file_;
};

class Hdf5Shard {
 public:
  static constexpr const char* kEnding = "h5";
  static Result<Hdf5Shard> Create(const std::string& path, const GenerateOptions& options,
                                  int64_t count) {
    STALLSCOPE_ASSIGN_OR_RETURN(
        Hdf5ImageWriter writer,
        Hdf5ImageWriter::Create(path, count, options.height, options.width));
    return Hdf5Shard(std::move(writer));
  }
  Status Write(const Sample& sample) { return writer_.Write(sample.pixels, sample.label); }
  Status Finish() { return writer_.Finish(); }

 private:
  explicit Hdf5Shard(Hdf5ImageWriter writer) : writer_(std::move(writer)) {}
  Hdf5ImageWriter writer_;
};

// Shard s starts at image images * s / shards.
template <class Shard>
class ShardedWriter final : public SetWriter {
 public:
  explicit ShardedWriter(const GenerateOptions& options) : options_(options) {}

  Status Write(int64_t image, const Sample& sample) override {
    if (image == end_) STALLSCOPE_RETURN_IF_ERROR(Open());
    return shard_->Write(sample);
  }

  Result<std::vector<ManifestFile>> Finish() override {
    STALLSCOPE_RETURN_IF_ERROR(Close());
    return std::move(files_);
  }

 private:
  Status Close() {
    if (shard_.has_value()) STALLSCOPE_RETURN_IF_ERROR(shard_->Finish());
    shard_.reset();
    return {};
  }

  Status Open() {
    STALLSCOPE_RETURN_IF_ERROR(Close());
    const auto number = static_cast<int64_t>(files_.size());
    const int64_t begin = end_;
    end_ = options_.images * (number + 1) / options_.shards;
    const std::string name =
        fmt::format("data-{:05}-of-{:05}.{}", number, options_.shards, Shard::kEnding);
    files_.push_back({name, 0, static_cast<uint64_t>(end_ - begin), ""});
    STALLSCOPE_ASSIGN_OR_RETURN(
        Shard shard, Shard::Create(options_.folder + "/" + name, options_, end_ - begin));
    shard_.emplace(std::move(shard));
    return {};
  }

  const GenerateOptions& options_;
  std::optional<Shard> shard_;
  int64_t end_ = 0;  // the first image of the next shard
  std::vector<ManifestFile> files_;
};

class FolderWriter final : public SetWriter {
 public:
  explicit FolderWriter(const GenerateOptions& options) : options_(options) {}

  Status Write(int64_t image, const Sample& sample) override {
    if (image == 0) STALLSCOPE_RETURN_IF_ERROR(MakeFolders());
    const std::string name = fmt::format(
        "{}/img_{:08}.jpg", ClassFolder(static_cast<int>(sample.label), options_.classes), image);
    STALLSCOPE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(options_.folder + "/" + name));
    STALLSCOPE_RETURN_IF_ERROR(file.Append(AsText(sample.bytes)));
    STALLSCOPE_RETURN_IF_ERROR(file.Publish());
    files_.push_back({name, 0, 1, ""});
    return {};
  }

  Result<std::vector<ManifestFile>> Finish() override {
    std::sort(files_.begin(), files_.end(),
              [](const ManifestFile& a, const ManifestFile& b) { return a.name < b.name; });
    return std::move(files_);
  }

 private:
  // Even for a class without images: its folder makes it a class.
  Status MakeFolders() {
    for (int label = 0; label < options_.classes; ++label) {
      const std::string path = options_.folder + "/" + ClassFolder(label, options_.classes);
      std::error_code error;
      std::filesystem::create_directory(path, error);
      if (error) {
        return Error{ErrorKind::kRun, "cannot create the folder: " + error.message(), path,
                     "check the permissions and the free space"};
      }
    }
    return {};
  }

  const GenerateOptions& options_;
  std::vector<ManifestFile> files_;
};

// What follows `start` and `least` or more digits; nothing if `name` has another form.
std::optional<std::string_view> AfterNumber(std::string_view name, std::string_view start,
                                            size_t least) {
  if (!name.starts_with(start)) return std::nullopt;
  name.remove_prefix(start.size());
  const size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  if (digits < least) return std::nullopt;
  return name.substr(digits);
}

}  // namespace

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
  // Fewer threads will do; Take reports it if there is none.
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

bool IsClassFolder(std::string_view name) { return AfterNumber(name, "class_", 4) == ""; }

bool IsFileOfSet(std::string_view name) {
  if (const auto image = AfterNumber(name, "class_", 4); image.has_value()) {
    return AfterNumber(*image, "/img_", 8) == ".jpg";
  }
  const auto number = AfterNumber(name, "data-", 5);
  const auto ending = AfterNumber(number.value_or(""), "-of-", 5);
  return ending == ".tfrecord" || ending == ".csv" || ending == ".h5";
}

std::string ClassFolder(int label, int classes) {
  const int digits = std::max(4, static_cast<int>(std::to_string(classes - 1).size()));
  return fmt::format("class_{:0{}}", label, digits);
}

std::unique_ptr<SetWriter> MakeSetWriter(const GenerateOptions& options) {
  switch (options.format) {
    case DataFormat::kTfRecord:
      return std::make_unique<ShardedWriter<TfRecordShard>>(options);
    case DataFormat::kImages:
      return std::make_unique<FolderWriter>(options);
    case DataFormat::kCsv:
      return std::make_unique<ShardedWriter<CsvShard>>(options);
    case DataFormat::kHdf5:
      break;
  }
  return std::make_unique<ShardedWriter<Hdf5Shard>>(options);
}

}  // namespace stallscope::data
