#include "collectors/data/set_writer.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "analyzer/base/file.h"
#include "collectors/data/csv_image.h"
#include "collectors/data/hdf5_images.h"
#include "collectors/data/raw_tensors.h"
#include "collectors/data/tfrecord.h"

namespace stallscope::data {
namespace {

bool IsThere(const std::string& path) {
  struct stat about {};
  return lstat(path.c_str(), &about) == 0;
}

// A file of a sharded set, one class per format. A format whose files are visible before Finish()
// is written under another name.
class TfRecordShard {
 public:
  static constexpr const char* kEnding = "tfrecord";
  static constexpr bool kSeenEarly = false;
  static Result<TfRecordShard> Create(const std::string& path, const SetLayout&, int64_t) {
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
  static constexpr bool kSeenEarly = false;
  static Result<CsvShard> Create(const std::string& path, const SetLayout& layout, int64_t) {
    STALLSCOPE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path));
    STALLSCOPE_RETURN_IF_ERROR(file.Append(CsvImageHeader(layout.shape[0], layout.shape[1])));
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
  static constexpr bool kSeenEarly = true;
  static Result<Hdf5Shard> Create(const std::string& path, const SetLayout& layout, int64_t count) {
    STALLSCOPE_ASSIGN_OR_RETURN(
        Hdf5ImageWriter writer,
        Hdf5ImageWriter::Create(path, count, layout.shape[0], layout.shape[1]));
    return Hdf5Shard(std::move(writer));
  }
  Status Write(const Sample& sample) { return writer_.Write(sample.pixels, sample.label); }
  Status Finish() { return writer_.Finish(); }

 private:
  explicit Hdf5Shard(Hdf5ImageWriter writer) : writer_(std::move(writer)) {}
  Hdf5ImageWriter writer_;
};

class RawShard {
 public:
  static constexpr const char* kEnding = "raw";
  static constexpr bool kSeenEarly = true;
  static Result<RawShard> Create(const std::string& path, const SetLayout& layout, int64_t) {
    STALLSCOPE_ASSIGN_OR_RETURN(RawTensorWriter writer,
                                RawTensorWriter::Create(path, layout.dtype, layout.shape));
    return RawShard(std::move(writer));
  }
  Status Write(const Sample& sample) { return writer_.Write(sample.pixels, sample.label); }
  Status Finish() { return {}; }

 private:
  explicit RawShard(RawTensorWriter writer) : writer_(std::move(writer)) {}
  RawTensorWriter writer_;
};

// Shard s starts at image images * s / shards.
template <class Shard>
class ShardedWriter final : public SetWriter {
 public:
  explicit ShardedWriter(SetLayout layout) : layout_(std::move(layout)) {
    while (Number() < layout_.shards && IsThere(PathOf(NameOf(Number())))) Next();
    complete_ = end_;
  }

  bool Has(int64_t image, const std::string&) const override { return image < complete_; }

  Status Write(int64_t image, const Sample& sample) override {
    if (image == end_) STALLSCOPE_RETURN_IF_ERROR(Open());
    return shard_->Write(sample);
  }

  Result<std::vector<ManifestFile>> Finish() override {
    STALLSCOPE_RETURN_IF_ERROR(Close());
    return std::move(files_);
  }

 private:
  int64_t Number() const { return static_cast<int64_t>(files_.size()); }
  std::string NameOf(int64_t shard) const {
    return fmt::format("data-{:05}-of-{:05}.{}", shard, layout_.shards, Shard::kEnding);
  }
  std::string PathOf(const std::string& name) const { return layout_.folder + "/" + name; }
  std::string EarlyPathOf(const std::string& name) const {
    return PathOf(name) + (Shard::kSeenEarly ? ".part" : "");
  }

  void Next() {
    const int64_t begin = end_;
    std::string name = NameOf(Number());
    end_ = layout_.images * (Number() + 1) / layout_.shards;
    files_.push_back({std::move(name), 0, static_cast<uint64_t>(end_ - begin), ""});
  }

  Status Close() {
    if (!shard_.has_value()) return {};
    STALLSCOPE_RETURN_IF_ERROR(shard_->Finish());
    shard_.reset();
    const std::string& name = files_.back().name;
    if (!Shard::kSeenEarly || std::rename(EarlyPathOf(name).c_str(), PathOf(name).c_str()) == 0) {
      return {};
    }
    return Error{ErrorKind::kRun, std::string("cannot rename the file: ") + std::strerror(errno),
                 PathOf(name), "check the permissions and the free space"};
  }

  Status Open() {
    STALLSCOPE_RETURN_IF_ERROR(Close());
    Next();
    const std::string path = EarlyPathOf(files_.back().name);
    if (Shard::kSeenEarly) std::remove(path.c_str());  // left by a killed process
    STALLSCOPE_ASSIGN_OR_RETURN(
        Shard shard, Shard::Create(path, layout_, static_cast<int64_t>(files_.back().records)));
    shard_.emplace(std::move(shard));
    return {};
  }

  const SetLayout layout_;
  std::optional<Shard> shard_;
  int64_t end_ = 0;       // the first image of the next shard
  int64_t complete_ = 0;  // the first image that no complete shard holds
  std::vector<ManifestFile> files_;
};

class FolderWriter final : public SetWriter {
 public:
  explicit FolderWriter(SetLayout layout) : layout_(std::move(layout)) {}

  // Even for a class without images: its folder makes it a class.
  Status MakeFolders() const {
    for (const std::string& name : layout_.class_folders) {
      const std::string path = layout_.folder + "/" + name;
      std::error_code error;
      std::filesystem::create_directory(path, error);
      if (error) {
        return Error{ErrorKind::kRun, "cannot create the folder: " + error.message(), path,
                     "check the permissions and the free space"};
      }
    }
    return {};
  }

  bool Has(int64_t, const std::string& name) const override {
    return IsThere(layout_.folder + "/" + name);
  }

  Status Write(int64_t, const Sample& sample) override {
    STALLSCOPE_ASSIGN_OR_RETURN(OutputFile file,
                                OutputFile::Create(layout_.folder + "/" + sample.name));
    STALLSCOPE_RETURN_IF_ERROR(file.Append(AsText(sample.bytes)));
    return file.Publish();
  }

  Result<std::vector<ManifestFile>> Finish() override {
    std::vector<ManifestFile> files;
    for (const std::string& folder : layout_.class_folders) {
      std::error_code error;
      for (const auto& entry :
           std::filesystem::directory_iterator(layout_.folder + "/" + folder, error)) {
        files.push_back({folder + "/" + entry.path().filename().string(), 0, 1, ""});
      }
      if (error) {
        return Error{ErrorKind::kRun, "cannot list the folder: " + error.message(),
                     layout_.folder + "/" + folder, ""};
      }
    }
    std::sort(files.begin(), files.end(),
              [](const ManifestFile& a, const ManifestFile& b) { return a.name < b.name; });
    return files;
  }

 private:
  const SetLayout layout_;
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

bool IsClassFolder(std::string_view name) { return AfterNumber(name, "class_", 4) == ""; }

bool IsFileOfSet(std::string_view name) {
  if (const auto image = AfterNumber(name, "class_", 4); image.has_value()) {
    const auto kind = AfterNumber(*image, "/img_", 8);
    return kind == ".jpg" || kind == ".png";
  }
  const auto number = AfterNumber(name, "data-", 5);
  const auto ending = AfterNumber(number.value_or(""), "-of-", 5);
  return ending == ".tfrecord" || ending == ".csv" || ending == ".h5" || ending == ".raw";
}

std::string ClassFolder(int label, int classes) {
  const int digits = std::max(4, static_cast<int>(std::to_string(classes - 1).size()));
  return fmt::format("class_{:0{}}", label, digits);
}

Result<std::unique_ptr<SetWriter>> MakeSetWriter(SetLayout layout) {
  using Made = std::unique_ptr<SetWriter>;
  switch (layout.format) {
    case DataFormat::kTfRecord:
      return Made(std::make_unique<ShardedWriter<TfRecordShard>>(std::move(layout)));
    case DataFormat::kCsv:
      return Made(std::make_unique<ShardedWriter<CsvShard>>(std::move(layout)));
    case DataFormat::kHdf5:
      return Made(std::make_unique<ShardedWriter<Hdf5Shard>>(std::move(layout)));
    case DataFormat::kRaw:
      return Made(std::make_unique<ShardedWriter<RawShard>>(std::move(layout)));
    case DataFormat::kImages:
      break;
  }
  auto writer = std::make_unique<FolderWriter>(std::move(layout));
  STALLSCOPE_RETURN_IF_ERROR(writer->MakeFolders());
  return Made(std::move(writer));
}

}  // namespace stallscope::data
