#include "collectors/pipeline/reader.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "analyzer/base/file.h"
#include "collectors/data/byte_source.h"
#include "collectors/data/csv_reader.h"
#include "collectors/data/file_set.h"
#include "collectors/data/hdf5_images.h"
#include "collectors/data/jpeg.h"
#include "collectors/data/png.h"
#include "collectors/data/raw_tensors.h"
#include "collectors/data/tfrecord.h"
#include "collectors/recorder/track.h"

namespace stallscope::pipeline {
namespace {

data::ReadOptions OptionsOf(const ReaderShared& shared) {
  data::ReadOptions options;
  options.throttle = shared.throttle;
  if (shared.context->recorder == nullptr) return options;
  options.on_read = [](Ticks begin, Ticks end, uint64_t, int64_t blocked_ns) {
    // Less is the scheduler's noise.
    constexpr int64_t kShortestNs = 20'000;
    recorder::Track* const track = recorder::CurrentTrack();
    if (track != nullptr && blocked_ns >= kShortestNs) {
      track->Wait(trace::WaitCause::kIo, QueueId::None(), begin, end);
    }
  };
  return options;
}

// Copies the bytes into the element's value, out of the pool.
Status Fill(Element& element, data::ByteView bytes, Content content, StageContext& context) {
  auto tensor = context.elements.Take(data::DType::kUint8, {static_cast<int64_t>(bytes.size())});
  if (!tensor.has_value()) {
    return Error{ErrorKind::kRun, fmt::format("no memory for a record of {} bytes", bytes.size()),
                 "", "use smaller records or buffers"};
  }
  if (!bytes.empty()) std::memcpy(tensor->data(), bytes.data(), bytes.size());
  element.value = std::move(*tensor);
  element.content = content;
  return {};
}

class RecordReader final : public Reader {
 public:
  RecordReader(data::TfRecordReader reader, StageContext& context)
      : reader_(std::move(reader)), context_(context) {}
  Result<bool> Next(Element& element) override {
    STALLSCOPE_ASSIGN_OR_RETURN(const auto record, reader_.Next());
    if (!record.has_value()) return false;
    element.id.record = record->index;
    element.offset = record->offset;
    STALLSCOPE_RETURN_IF_ERROR(Fill(element, record->payload, Content::kRecord, context_));
    return true;
  }
  bool can_continue() const override { return reader_.can_continue(); }
  uint64_t lost_bytes() const override { return reader_.lost().bytes; }

 private:
  data::TfRecordReader reader_;
  StageContext& context_;
};

class RowReader final : public Reader {
 public:
  RowReader(data::CsvReader reader, StageContext& context)
      : reader_(std::move(reader)), context_(context) {}
  Result<bool> Next(Element& element) override {
    STALLSCOPE_ASSIGN_OR_RETURN(const auto row, reader_.Next());
    if (!row.has_value()) return false;
    element.id.record = row->index;
    element.offset = row->offset;
    STALLSCOPE_RETURN_IF_ERROR(Fill(element, data::AsBytes(row->text), Content::kRow, context_));
    return true;
  }
  bool can_continue() const override { return reader_.can_continue(); }

 private:
  data::CsvReader reader_;
  StageContext& context_;
};

class TensorReader final : public Reader {
 public:
  TensorReader(data::RawTensorReader reader, StageContext& context)
      : reader_(std::move(reader)), context_(context) {}
  Result<bool> Next(Element& element) override {
    if (auto tensor = context_.elements.Take(reader_.dtype(), reader_.shape());
        tensor.has_value()) {
      element.value = std::move(*tensor);
    }
    STALLSCOPE_ASSIGN_OR_RETURN(const auto record, reader_.Next(element.value));
    if (!record.has_value()) return false;
    element.content = Content::kTensor;
    element.label = record->label;
    element.id.record = record->index;
    element.offset = record->offset;
    return true;
  }

 private:
  data::RawTensorReader reader_;
  StageContext& context_;
};

class ArrayReader final : public Reader {
 public:
  explicit ArrayReader(data::Hdf5ImageReader reader, StageContext& context)
      : reader_(std::move(reader)), context_(context) {}
  Result<bool> Next(Element& element) override {
    if (next_ == reader_.count()) return false;
    const int64_t record = next_++;
    if (auto tensor =
            context_.elements.Take(data::DType::kUint8, {1, reader_.height(), reader_.width(), 3});
        tensor.has_value()) {
      element.value = std::move(*tensor);
    }
    STALLSCOPE_RETURN_IF_ERROR(reader_.Read(record, 1, element.value, labels_));
    element.value.Reset(data::DType::kUint8, {reader_.height(), reader_.width(), 3});
    element.content = Content::kTensor;
    element.label = labels_.front();
    element.id.record = static_cast<uint64_t>(record);
    element.offset = element.id.record * element.value.bytes();
    return true;
  }

 private:
  data::Hdf5ImageReader reader_;
  StageContext& context_;
  std::vector<int64_t> labels_;
  int64_t next_ = 0;
};

// A file that is one element.
class ImageReader final : public Reader {
 public:
  ImageReader(std::unique_ptr<data::ByteSource> source, int64_t label, StageContext& context)
      : source_(std::move(source)), label_(label), context_(context) {}

  Result<bool> Next(Element& element) override {
    if (done_) return false;
    done_ = true;
    auto size = source_->TotalBytes().value_or(0);
    if (size > kMostImageBytes) return TooLarge();
    // A byte more than there should be, so that a file which grew is read to its end too.
    auto tensor = context_.elements.Take(data::DType::kUint8, {static_cast<int64_t>(size) + 1});
    size_t filled = 0;
    while (tensor.has_value()) {
      STALLSCOPE_ASSIGN_OR_RETURN(const size_t got,
                                  source_->Read(tensor->data() + filled, tensor->bytes() - filled));
      filled += got;
      if (got == 0) break;
      if (filled < tensor->bytes()) continue;
      if (filled > kMostImageBytes) return TooLarge();
      auto larger =
          context_.elements.Take(data::DType::kUint8, {static_cast<int64_t>(tensor->bytes()) * 2});
      if (larger.has_value()) std::memcpy(larger->data(), tensor->data(), filled);
      context_.elements.Give(std::move(*tensor));
      tensor = std::move(larger);
    }
    if (!tensor.has_value()) return Error{ErrorKind::kRun, "no memory for the file", "", ""};
    tensor->Reset(data::DType::kUint8, {static_cast<int64_t>(filled)});
    element.value = std::move(*tensor);
    element.content = Content::kEncoded;
    element.label = label_;
    element.id.record = 0;
    element.offset = 0;
    if (data::LooksLikeJpeg(element.value.view()) || data::LooksLikePng(element.value.view())) {
      return true;
    }
    return Error{ErrorKind::kRun,
                 fmt::format("{} is not an image", data::Name(data::KindOf(element.value.view()))),
                 source_->name(), "remove it from the folder, or set on_error to skip"};
  }

 private:
  // As many as the largest image that is decoded takes with its pixels laid bare.
  static constexpr uint64_t kMostImageBytes = uint64_t{256} << 20;

  Error TooLarge() const {
    return Error{ErrorKind::kRun,
                 fmt::format("an image may not exceed {} MiB", kMostImageBytes >> 20),
                 source_->name(), "remove it from the folder, or set on_error to skip"};
  }

  const std::unique_ptr<data::ByteSource> source_;
  const int64_t label_;
  StageContext& context_;
  bool done_ = false;
};

template <class Made, class Open>
Result<std::unique_ptr<Reader>> Make(const ReaderShared& shared, Open open) {
  auto reader = open();
  if (!reader.ok()) return data::AsRunError(std::move(reader).error());
  return std::unique_ptr<Reader>(
      std::make_unique<Made>(std::move(reader).value(), *shared.context));
}

data::FileKind KindFor(SourceFormat format) {
  switch (format) {
    case SourceFormat::kTfrecord:
      return data::FileKind::kTfRecord;
    case SourceFormat::kCsv:
      return data::FileKind::kText;
    case SourceFormat::kHdf5:
      return data::FileKind::kHdf5;
    case SourceFormat::kRaw:
      return data::FileKind::kRawTensors;
    case SourceFormat::kImages:
    case SourceFormat::kSerial:
    case SourceFormat::kSynthetic:
      return data::FileKind::kUnknown;
  }
  return data::FileKind::kUnknown;
}

}  // namespace

Result<std::unique_ptr<Reader>> OpenReader(const ReaderShared& shared, size_t index) {
  const std::string& path = *shared.files.paths[index];
  const data::ReadOptions options = OptionsOf(shared);
  data::FileKind kind = KindFor(shared.spec.format);
  if (kind != data::FileKind::kUnknown) {
    Status expected = data::ExpectKind(path, kind);
    if (!expected.ok()) return data::AsRunError(std::move(expected).error());
  } else if (shared.spec.format == SourceFormat::kSerial) {
    // A generator in Python reads whatever it is given.
    auto look = data::LookAt(path);
    if (!look.ok()) return data::AsRunError(std::move(look).error());
    kind = look.value().kind;
  }
  switch (kind) {
    case data::FileKind::kTfRecord:
      return Make<RecordReader>(shared, [&] { return data::TfRecordReader::Open(path, options); });
    case data::FileKind::kText:
      return Make<RowReader>(shared, [&] { return data::CsvReader::Open(path, options); });
    case data::FileKind::kRawTensors:
      return Make<TensorReader>(shared, [&] { return data::RawTensorReader::Open(path, options); });
    case data::FileKind::kHdf5: {
      data::Hdf5Names names;
      const auto& keys = shared.spec.features;
      if (const auto at = keys.find("image"); at != keys.end()) names.images = at->second;
      if (const auto at = keys.find("label"); at != keys.end()) names.labels = at->second;
      return Make<ArrayReader>(shared,
                               [&] { return data::Hdf5ImageReader::Open(path, names, options); });
    }
    default:
      break;
  }
  auto source = data::OpenFileSource(path, options);
  if (!source.ok()) return data::AsRunError(std::move(source).error());
  const int64_t label = index < shared.files.labels.size() ? shared.files.labels[index] : 0;
  return std::unique_ptr<Reader>(
      std::make_unique<ImageReader>(std::move(source).value(), label, *shared.context));
}

// Which files a source reads, and what tells this data set from another.
namespace {

// Of names, sizes, and the first and last 4 KiB of at most 256 files: reading everything would warm
// the page cache and take as long as the run.
Result<std::string> Fingerprint(const SourceFiles& files) {
  constexpr size_t kLookedInto = 256;
  constexpr uint64_t kEdge = 4096;
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> owned(XXH3_createState(),
                                                                              &XXH3_freeState);
  XXH3_state_t* const state = owned.get();
  XXH3_128bits_reset(state);
  const size_t every = (files.paths.size() + kLookedInto - 1) / kLookedInto;
  std::array<char, kEdge> edge;
  for (size_t i = 0; i < files.paths.size(); ++i) {
    const std::string& path = *files.paths[i];
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) continue;  // opening it will say why
    NoteInput(path);
    const std::string line =
        fmt::format("{} {}\n", std::filesystem::path(path).filename().string(), info.st_size);
    XXH3_128bits_update(state, line.data(), line.size());
    // Opening anything else may block forever, such as a pipe without a writer.
    if (i % every != 0 || !S_ISREG(info.st_mode)) continue;
    auto file = InputFile::Open(path);
    if (!file.ok()) continue;
    const auto size = static_cast<uint64_t>(info.st_size);
    for (const uint64_t offset : {uint64_t{0}, size > kEdge ? size - kEdge : uint64_t{0}}) {
      const auto got = file.value().ReadAt(offset, edge.data(), edge.size());
      if (got.ok()) XXH3_128bits_update(state, edge.data(), got.value());
    }
  }
  const XXH128_hash_t hash = XXH3_128bits_digest(state);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace

Result<SourceFiles> FindFiles(const SourceSpec& spec) {
  SourceFiles files;
  if (spec.files.empty()) return files;
  if (spec.format == SourceFormat::kImages) {
    auto folder = data::ExpandImages(spec.files);
    if (!folder.ok()) return data::AsRunError(std::move(folder).error());
    for (data::ImageFile& file : folder.value().files) {
      files.paths.push_back(std::make_shared<const std::string>(std::move(file.path)));
      files.labels.push_back(file.label);
    }
    files.classes = std::move(folder.value().classes);
  } else {
    auto paths = data::ExpandFiles(spec.files);
    if (!paths.ok()) return data::AsRunError(std::move(paths).error());
    for (std::string& path : paths.value()) {
      files.paths.push_back(std::make_shared<const std::string>(std::move(path)));
    }
  }
  STALLSCOPE_ASSIGN_OR_RETURN(files.fingerprint, Fingerprint(files));
  return files;
}

Result<std::vector<SourceFiles>> FindFiles(const Spec& spec) {
  std::vector<SourceFiles> sources;
  for (const StageSpec& stage : spec.stages) {
    const auto* const source = std::get_if<SourceSpec>(&stage.kind);
    if (source == nullptr) continue;
    STALLSCOPE_ASSIGN_OR_RETURN(sources.emplace_back(), FindFiles(*source));
  }
  return sources;
}

std::string FingerprintOf(const std::vector<SourceFiles>& sources) {
  if (sources.size() == 1) return sources.front().fingerprint;
  std::string all;
  for (const SourceFiles& source : sources) {
    if (!source.fingerprint.empty()) all += source.fingerprint + "\n";
  }
  if (all.empty()) return "";
  const XXH128_hash_t hash = XXH3_128bits(all.data(), all.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace stallscope::pipeline
