#include "collectors/pipeline/element_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/base/file.h"
#include "analyzer/base/folders.h"
#include "collectors/data/byte_source.h"
#include "collectors/data/tfrecord.h"
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

// What the first record of a store begins with; the key follows.
constexpr std::string_view kPreamble = "stallscope elements 1\n";
constexpr uint64_t kLongestKey = 4096;
constexpr int kTries = 3;
constexpr int kLooks = 40;
constexpr useconds_t kLookEveryUs = 50'000;

// The error, with what can be done about a file of ours.
Error FileTrouble(Error error, const std::string& path) {
  error = data::AsRunError(std::move(error));
  if (error.hint.empty()) error.hint = "remove " + path + "; the next run writes it again";
  return error;
}

bool IsRegular(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode);
}

// The key of the store in the file; nothing where it is no store of ours.
std::optional<std::string> KeyIn(const InputFile& file) {
  std::array<uint8_t, 12> header{};
  const auto got = file.ReadAt(0, header.data(), header.size());
  uint64_t length = 0;
  std::memcpy(&length, header.data(), sizeof length);
  if (!got.ok() || got.value() < header.size() || !data::TfRecordReader::LooksLikeRecord(header) ||
      length < kPreamble.size() || length > kPreamble.size() + kLongestKey) {
    return std::nullopt;
  }
  std::string text(length, '\0');
  const auto read = file.ReadAt(header.size(), text.data(), text.size());
  if (!read.ok() || read.value() < text.size() || !text.starts_with(kPreamble)) {
    return std::nullopt;
  }
  return text.substr(kPreamble.size());
}

// An error if a new store may not take the path: it replaces nothing but another store.
Status CheckReplaceable(const StoreFile& file) {
  struct stat about {};
  if (lstat(file.path.c_str(), &about) != 0) return {};  // or OutputFile says why not
  if (IsRegular(file.path)) {
    auto there = InputFile::Open(file.path, Use::kLook);
    if (!there.ok()) return FileTrouble(std::move(there).error(), file.path);
    if (KeyIn(there.value()).has_value()) return {};
  }
  return Error{ErrorKind::kUsage, "not an element store, so it is left alone", file.path,
               "set " + file.field + " to an unused name, or remove what is there"};
}

// Another run that has just sealed a store of this name holds it for a moment more.
template <class Attempt>
auto WhenFree(const std::string& path, Attempt attempt) {
  auto done = attempt();
  for (int tries = 1; tries < kTries && !done.ok(); ++tries) {
    for (int look = 0; look < kLooks && HasWriter(path); ++look) usleep(kLookEveryUs);
    done = attempt();
  }
  return done;
}

// A file from its begin, whatever becomes of its name.
class OpenFileSource final : public data::ByteSource {
 public:
  OpenFileSource(std::shared_ptr<const InputFile> file, uint64_t size)
      : ByteSource(file->path()), file_(std::move(file)), size_(size) {}
  Result<size_t> Read(uint8_t* into, size_t size) override {
    STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, file_->ReadAt(offset_, into, size));
    offset_ += got;
    return got;
  }
  std::optional<uint64_t> TotalBytes() const override { return size_; }
  uint64_t PackedBytesRead() const override { return offset_; }

 private:
  const std::shared_ptr<const InputFile> file_;
  const uint64_t size_;
  uint64_t offset_ = 0;
};

class FileStore final : public ElementStore {
 public:
  FileStore(StoreFile file, std::optional<ScratchFolder> scratch, StageContext& context)
      : file_(std::move(file)), scratch_(std::move(scratch)), context_(context) {}

  // False: it has to be written.
  bool OpenSealed() {
    if (!IsRegular(file_.path) || !OpenToRead().ok()) return false;
    sealed_ = true;
    bytes_ = size_;
    return Rewind().ok();
  }

  Status Create() {
    STALLSCOPE_RETURN_IF_ERROR(CheckReplaceable(file_));
    auto output =
        WhenFree(file_.path, [&] { return OutputFile::Create(file_.path, Over::kOwnInput); });
    if (!output.ok()) return data::AsRunError(std::move(output).error());
    STALLSCOPE_ASSIGN_OR_RETURN(auto writer, data::TfRecordWriter::Into(std::move(output).value()));
    writer_ = std::make_unique<data::TfRecordWriter>(std::move(writer));
    return Write(data::AsBytes(std::string(kPreamble) + file_.key));
  }

  Status Add(const Element& element) override {
    EncodeElement(element, record_);
    bytes_ += record_.size();
    return Write(record_);
  }

  Status Seal() override {
    STALLSCOPE_RETURN_IF_ERROR(CheckReplaceable(file_));
    Status finished = WhenFree(file_.path, [&] { return writer_->Finish(); });
    if (!finished.ok()) return data::AsRunError(std::move(finished).error());
    // While the writer lives, nobody else can give the name to another file.
    STALLSCOPE_RETURN_IF_ERROR(OpenToRead());
    writer_.reset();
    sealed_ = true;
    return {};
  }
  bool sealed() const override { return sealed_; }

  Status Rewind() override {
    auto reader = data::TfRecordReader::Over(std::make_unique<OpenFileSource>(opened_, size_));
    if (!reader.ok()) return FileTrouble(std::move(reader).error(), file_.path);
    reader_ = std::make_unique<data::TfRecordReader>(std::move(reader).value());
    auto preamble = reader_->Next();
    if (!preamble.ok()) return FileTrouble(std::move(preamble).error(), file_.path);
    return {};
  }

  Result<std::optional<Element>> Next() override {
    auto record = reader_->Next();
    if (!record.ok()) return FileTrouble(std::move(record).error(), file_.path);
    if (!record.value().has_value()) return std::optional<Element>();
    auto element = DecodeElement(record.value()->payload, context_);
    if (!element.ok()) {
      return data::Locate(std::move(element).error(),
                          {file_.path, record.value()->offset, record.value()->index});
    }
    return std::optional<Element>(std::move(element).value());
  }
  uint64_t bytes() const override { return bytes_; }

 private:
  Status OpenToRead() {
    auto opened = InputFile::Open(file_.path);
    if (!opened.ok()) return FileTrouble(std::move(opened).error(), file_.path);
    if (KeyIn(opened.value()) != file_.key) {
      return Error{ErrorKind::kRun, "another program replaced the file", file_.path,
                   "set " + file_.field + " to a name that nothing else uses"};
    }
    STALLSCOPE_ASSIGN_OR_RETURN(size_, opened.value().Size());
    opened_ = std::make_shared<const InputFile>(std::move(opened).value());
    return {};
  }
  Status Write(data::ByteView bytes) {
    Status written = writer_->Write(bytes);
    return written.ok() ? Status() : Status(data::AsRunError(std::move(written).error()));
  }

  const StoreFile file_;
  const std::optional<ScratchFolder> scratch_;  // goes after what is open in it
  StageContext& context_;
  std::unique_ptr<data::TfRecordWriter> writer_;
  std::shared_ptr<const InputFile> opened_;
  uint64_t size_ = 0;
  std::unique_ptr<data::TfRecordReader> reader_;
  data::Buffer record_;
  uint64_t bytes_ = 0;
  bool sealed_ = false;
};

}  // namespace

std::unique_ptr<ElementStore> MakeMemoryStore(StageContext& context) {
  return std::make_unique<MemoryStore>(context);
}

Result<std::unique_ptr<ElementStore>> MakeFileStore(const StoreFile& file, StageContext& context) {
  StoreFile named = file;
  std::optional<ScratchFolder> scratch;
  if (named.path.empty()) {
    STALLSCOPE_ASSIGN_OR_RETURN(ScratchFolder made, ScratchFolder::Make());
    named.path = made.path() + "/elements";
    scratch.emplace(std::move(made));
  } else if (const fs::path folder = fs::path(named.path).parent_path(); !folder.empty()) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) {
      return Error{ErrorKind::kRun, "cannot create the folder: " + error.message(), folder.string(),
                   "check " + named.field + " and the permissions"};
    }
  }
  auto store = std::make_unique<FileStore>(std::move(named), std::move(scratch), context);
  STALLSCOPE_RETURN_IF_ERROR(store->Create());
  return std::unique_ptr<ElementStore>(std::move(store));
}

std::unique_ptr<ElementStore> OpenSealedStore(const std::string& path, const std::string& key,
                                              StageContext& context) {
  auto store = std::make_unique<FileStore>(StoreFile{path, key, ""}, std::nullopt, context);
  return store->OpenSealed() ? std::move(store) : nullptr;
}

}  // namespace stallscope::pipeline
