#include "collectors/pipeline/element_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "collectors/data/origin.h"
#include "collectors/data/tfrecord_reader.h"
#include "collectors/data/tfrecord_writer.h"
#include "collectors/pipeline/element_codec.h"

namespace stallscope::pipeline {
namespace {

namespace fs = std::filesystem;

class MemoryStore final : public ElementStore {
 public:
  explicit MemoryStore(StageContext& context) : context_(context) {}
  Status Add(const Element& element) override {
    elements_.emplace_back();
    EncodeElement(element, elements_.back());
    bytes_ += elements_.back().size();
    return {};
  }
  Status Seal() override {
    sealed_ = true;
    return {};
  }
  bool sealed() const override { return sealed_; }
  Status Rewind() override {
    next_ = 0;
    return {};
  }
  Result<std::optional<Element>> Next() override {
    if (next_ == elements_.size()) return std::optional<Element>();
    STALLSCOPE_ASSIGN_OR_RETURN(Element element, DecodeElement(elements_[next_++], context_));
    return std::optional<Element>(std::move(element));
  }
  uint64_t bytes() const override { return bytes_; }

 private:
  StageContext& context_;
  std::vector<data::Buffer> elements_;
  size_t next_ = 0;
  uint64_t bytes_ = 0;
  bool sealed_ = false;
};

std::string Preamble(const std::string& key) { return "stallscope elements 1\n" + key; }

// The error, with what can be done about a file of ours.
Error FileTrouble(Error error, const std::string& path) {
  error = data::AsRunError(std::move(error));
  if (error.hint.empty()) error.hint = "remove " + path + "; the next run writes it again";
  return error;
}

class FileStore final : public ElementStore {
 public:
  FileStore(std::string path, std::string key, bool scratch, StageContext& context)
      : path_(std::move(path)), key_(std::move(key)), scratch_(scratch), context_(context) {}
  ~FileStore() override {
    if (scratch_ || !sealed_) unlink(Partial().c_str());
    if (scratch_) unlink(path_.c_str());
  }

  Status Open() {
    if (!scratch_ && FileStoreIsSealed(path_, key_)) {
      sealed_ = true;
      std::error_code ignored;
      bytes_ = fs::file_size(path_, ignored);
      return Rewind();
    }
    auto writer = data::TfRecordWriter::Create(Partial());
    if (!writer.ok()) return data::AsRunError(std::move(writer).error());
    writer_ = std::make_unique<data::TfRecordWriter>(std::move(writer).value());
    return Write(data::AsBytes(Preamble(key_)));
  }

  Status Add(const Element& element) override {
    EncodeElement(element, record_);
    bytes_ += record_.size();
    return Write(record_);
  }

  Status Seal() override {
    Status finished = writer_->Finish();
    if (!finished.ok()) return data::AsRunError(std::move(finished).error());
    writer_.reset();
    if (std::rename(Partial().c_str(), path_.c_str()) != 0) {
      return Error{ErrorKind::kRun, std::string("cannot rename the file: ") + std::strerror(errno),
                   path_, "check the folder"};
    }
    sealed_ = true;
    return {};
  }
  bool sealed() const override { return sealed_; }

  Status Rewind() override {
    auto reader = data::TfRecordReader::Open(path_);
    if (!reader.ok()) return FileTrouble(std::move(reader).error(), path_);
    reader_ = std::make_unique<data::TfRecordReader>(std::move(reader).value());
    auto preamble = reader_->Next();
    if (!preamble.ok()) return FileTrouble(std::move(preamble).error(), path_);
    return {};
  }

  Result<std::optional<Element>> Next() override {
    auto record = reader_->Next();
    if (!record.ok()) return FileTrouble(std::move(record).error(), path_);
    if (!record.value().has_value()) return std::optional<Element>();
    auto element = DecodeElement(record.value()->payload, context_);
    if (!element.ok()) {
      return data::Locate(std::move(element).error(),
                          {path_, record.value()->offset, record.value()->index});
    }
    return std::optional<Element>(std::move(element).value());
  }
  uint64_t bytes() const override { return bytes_; }

 private:
  std::string Partial() const { return path_ + ".partial"; }
  Status Write(data::ByteView bytes) {
    Status written = writer_->Write(bytes);
    return written.ok() ? Status() : Status(data::AsRunError(std::move(written).error()));
  }

  const std::string path_;
  const std::string key_;
  const bool scratch_;
  StageContext& context_;
  std::unique_ptr<data::TfRecordWriter> writer_;
  std::unique_ptr<data::TfRecordReader> reader_;
  data::Buffer record_;
  uint64_t bytes_ = 0;
  bool sealed_ = false;
};

Result<std::string> ScratchPath() {
  const char* const folder = std::getenv("TMPDIR");
  std::string path = std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") +
                     "/stallscope-cache-XXXXXX";
  const int fd = mkstemp(path.data());
  if (fd < 0) {
    return Error{ErrorKind::kRun,
                 std::string("cannot make a scratch file: ") + std::strerror(errno), path,
                 "set TMPDIR to a folder with room, or give the cache a path"};
  }
  close(fd);
  return path;
}

}  // namespace

std::unique_ptr<ElementStore> MakeMemoryStore(StageContext& context) {
  return std::make_unique<MemoryStore>(context);
}

Result<std::unique_ptr<ElementStore>> MakeFileStore(const std::string& path, const std::string& key,
                                                    StageContext& context) {
  const bool scratch = path.empty();
  std::string name = path;
  if (scratch) {
    STALLSCOPE_ASSIGN_OR_RETURN(name, ScratchPath());
  } else if (const fs::path folder = fs::path(path).parent_path(); !folder.empty()) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) {
      return Error{ErrorKind::kRun, "cannot make the folder: " + error.message(), folder.string(),
                   "check the path and its permissions"};
    }
  }
  auto store = std::make_unique<FileStore>(std::move(name), key, scratch, context);
  STALLSCOPE_RETURN_IF_ERROR(store->Open());
  return std::unique_ptr<ElementStore>(std::move(store));
}

bool FileStoreIsSealed(const std::string& path, const std::string& key) {
  if (path.empty()) return false;
  auto reader = data::TfRecordReader::Open(path);
  if (!reader.ok()) return false;
  auto preamble = reader.value().Next();
  return preamble.ok() && preamble.value().has_value() &&
         data::AsText(preamble.value()->payload) == Preamble(key);
}

}  // namespace stallscope::pipeline
