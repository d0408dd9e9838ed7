#include "collectors/data/set_reader.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>

#include "analyzer/base/file.h"
#include "analyzer/base/splitmix.h"
#include "collectors/data/csv_reader.h"
#include "collectors/data/hdf5_images.h"
#include "collectors/data/manifest.h"
#include "collectors/data/raw_tensors.h"
#include "collectors/data/tfrecord.h"

namespace stallscope::data {
namespace {

namespace fs = std::filesystem;

Error AsInput(Error error) {
  error.kind = ErrorKind::kInput;
  return error;
}

// An image folder in the generator's layout has subfolders; any other data set is flat.
bool HoldsFiles(const std::string& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.front() == '.' || name == kManifestFile) continue;
    std::error_code unknown;
    if (at->is_directory(unknown)) return false;
    const auto look = LookAt(at->path().string());
    return look.ok() && look.value().kind != FileKind::kJpeg && look.value().kind != FileKind::kPng;
  }
  return false;
}

bool IsImage(FileKind kind) { return kind == FileKind::kJpeg || kind == FileKind::kPng; }

// Replaces the names of folders that hold a data set by patterns for its files.
std::vector<std::string> AsPatterns(const std::vector<std::string>& names) {
  std::vector<std::string> patterns;
  for (const std::string& name : names) {
    std::error_code unknown;
    const bool folder = fs::is_directory(name, unknown);
    patterns.push_back(folder && HoldsFiles(name) ? name + "/*" : name);
  }
  return patterns;
}

// The kind of the first file with a known one; kEmpty if none has.
Result<FileKind> KindOfSet(const std::vector<std::string>& patterns) {
  std::error_code unknown;
  if (std::any_of(patterns.begin(), patterns.end(),
                  [&](const std::string& name) { return fs::is_directory(name, unknown); })) {
    return FileKind::kJpeg;
  }
  STALLSCOPE_ASSIGN_OR_RETURN(const auto files, ExpandFiles(patterns));
  for (const std::string& file : files) {
    STALLSCOPE_ASSIGN_OR_RETURN(const FileLook look, LookAt(file));
    if (look.kind == FileKind::kEmpty) continue;
    if (look.kind == FileKind::kUnknown || look.kind == FileKind::kManifest) {
      return Error{ErrorKind::kInput, fmt::format("is {}", Name(look.kind)), file,
                   "pass TFRecord, CSV, HDF5, raw tensor or image files"};
    }
    return IsImage(look.kind) ? FileKind::kJpeg : look.kind;
  }
  return Error{ErrorKind::kInput, "all files are empty", files.front(), "pass a data set"};
}

// A fixed permutation: the same files always get the same order.
void Mix(SourceSet& set) {
  std::vector<size_t> order(set.files.size());
  std::iota(order.begin(), order.end(), size_t{0});
  SplitMix64 random(order.size());
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
  SourceSet mixed;
  for (const size_t at : order) {
    mixed.files.push_back(std::move(set.files[at]));
    mixed.labels.push_back(set.labels[at]);
  }
  set.files = std::move(mixed.files);
  set.labels = std::move(mixed.labels);
}

Status Measure(SourceSet& set) {
  std::string lines;
  for (const std::string& file : set.files) {
    struct stat about {};
    if (stat(file.c_str(), &about) != 0) {
      return Error{ErrorKind::kInput, "cannot read the file", file, "check the path"};
    }
    NoteInput(file);
    set.bytes += static_cast<uint64_t>(about.st_size);
    std::error_code unknown;
    lines += fmt::format("{} {} {}.{}\n", fs::absolute(file, unknown).string(), about.st_size,
                         about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
  }
  const XXH128_hash_t hash = XXH3_128bits(lines.data(), lines.size());
  set.fingerprint = fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  return {};
}

// The class names in a manifest next to the first file.
std::vector<std::string> NamesBeside(const std::string& file) {
  const std::string folder = fs::path(file).parent_path().string();
  const auto manifest = ReadManifest(folder.empty() ? "." : folder);
  return manifest.ok() ? manifest.value().class_names : std::vector<std::string>();
}

using Take = std::function<Result<bool>(SourceItem&)>;

// A reader's Next() returns an optional, whose payload `fill` moves into the item.
template <class Reader, class Fill>
Result<bool> ReadAll(Result<Reader> opened, SourceItem& item, const Take& take, const Fill& fill) {
  if (!opened.ok()) return AsRunError(std::move(opened).error());
  Reader reader = std::move(opened).value();
  for (;;) {
    STALLSCOPE_ASSIGN_OR_RETURN(const auto next, reader.Next());
    if (!next.has_value()) return true;
    item.bytes.Clear();
    fill(*next);
    item.place = Describe({reader.path(), next->offset, next->index});
    STALLSCOPE_ASSIGN_OR_RETURN(const bool more, take(item));
    if (!more) return false;
  }
}

Result<bool> ReadRaw(const std::string& file, SourceItem& item, const Take& take) {
  auto opened = RawTensorReader::Open(file);
  if (!opened.ok()) return AsRunError(std::move(opened).error());
  for (;;) {
    STALLSCOPE_ASSIGN_OR_RETURN(const auto next, opened.value().Next(item.pixels));
    if (!next.has_value()) return true;
    item.label = next->label;
    item.place = Describe({file, next->offset, next->index});
    STALLSCOPE_ASSIGN_OR_RETURN(const bool more, take(item));
    if (!more) return false;
  }
}

Result<bool> ReadHdf5(const std::string& file, SourceItem& item, const Take& take) {
  auto opened = Hdf5ImageReader::Open(file);
  if (!opened.ok()) return AsRunError(std::move(opened).error());
  Hdf5ImageReader reader = std::move(opened).value();
  std::vector<int64_t> labels;
  for (int64_t at = 0; at < reader.count(); ++at) {
    STALLSCOPE_RETURN_IF_ERROR(reader.Read(at, 1, item.pixels, labels));
    item.pixels.Reset(DType::kUint8, {reader.height(), reader.width(), 3});
    item.label = labels.front();
    item.place = fmt::format("{}, record {}", file, at);
    STALLSCOPE_ASSIGN_OR_RETURN(const bool more, take(item));
    if (!more) return false;
  }
  return true;
}

Result<bool> ReadImage(const SourceSet& set, size_t at, SourceItem& item, const Take& take) {
  constexpr uint64_t kMostImageBytes = uint64_t{256} << 20;
  const std::string& file = set.files[at];
  auto text = ReadWholeFile(file, kMostImageBytes);
  if (!text.ok()) return AsRunError(std::move(text).error());
  item.bytes.Clear();
  item.bytes.Append(AsBytes(text.value()));
  if (!IsImage(KindOf(item.bytes))) {
    return Error{ErrorKind::kRun, fmt::format("{} is not an image", Name(KindOf(item.bytes))), file,
                 "remove it from the folder"};
  }
  item.label = set.labels[at];
  item.class_name = set.class_names[static_cast<size_t>(item.label)];
  item.file_name = fs::path(file).filename().string();
  item.place = file;
  return take(item);
}

Result<bool> ReadFile(const SourceSet& set, size_t at, SourceItem& item, const Take& take) {
  const std::string& file = set.files[at];
  if (IsImage(set.kind)) return ReadImage(set, at, item, take);
  STALLSCOPE_RETURN_IF_ERROR(ExpectKind(file, set.kind));
  if (set.kind == FileKind::kHdf5) return ReadHdf5(file, item, take);
  STALLSCOPE_ASSIGN_OR_RETURN(const FileLook look, LookAt(file));
  if (look.kind == FileKind::kEmpty) return true;
  if (set.kind == FileKind::kRawTensors) return ReadRaw(file, item, take);
  if (set.kind == FileKind::kText) {
    return ReadAll(CsvReader::Open(file), item, take,
                   [&](const CsvRow& row) { item.bytes.Append(AsBytes(row.text)); });
  }
  return ReadAll(TfRecordReader::Open(file), item, take,
                 [&](const Record& record) { item.bytes.Append(record.payload); });
}

}  // namespace

Result<SourceSet> FindSourceSet(const std::vector<std::string>& names) {
  const std::vector<std::string> patterns = AsPatterns(names);
  auto kind = KindOfSet(patterns);
  if (!kind.ok()) return AsInput(std::move(kind).error());
  SourceSet set;
  set.kind = kind.value();
  if (IsImage(set.kind)) {
    auto folder = ExpandImages(patterns);
    if (!folder.ok()) return AsInput(std::move(folder).error());
    for (ImageFile& file : folder.value().files) {
      set.files.push_back(std::move(file.path));
      set.labels.push_back(file.label);
    }
    set.class_names = std::move(folder.value().classes);
    Mix(set);
  } else {
    auto files = ExpandFiles(patterns);
    if (!files.ok()) return AsInput(std::move(files).error());
    set.files = std::move(files).value();
    set.class_names = NamesBeside(set.files.front());
  }
  STALLSCOPE_RETURN_IF_ERROR(Measure(set));
  return set;
}

Status ForEachItem(const SourceSet& set, const std::function<Result<bool>(SourceItem&)>& take) {
  SourceItem item;
  item.kind = set.kind;
  Status taken;  // the caller's own error about an item, unchanged
  const Take checked = [&](SourceItem& read) -> Result<bool> {
    auto more = take(read);
    if (more.ok()) return more;
    taken = std::move(more).error();
    return false;
  };
  for (size_t at = 0; at < set.files.size(); ++at) {
    auto more = ReadFile(set, at, item, checked);
    if (!more.ok()) return AsRunError(std::move(more).error());
    if (!more.value()) return taken;
  }
  return {};
}

}  // namespace stallscope::data
