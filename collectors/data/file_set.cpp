#include "collectors/data/file_set.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "collectors/data/jpeg.h"
#include "collectors/data/manifest.h"
#include "collectors/data/png.h"
#include "collectors/data/raw_tensors.h"
#include "collectors/data/tfrecord.h"

namespace stallscope::data {
namespace {

constexpr size_t kLookBytes = 4096;
constexpr std::string_view kHdf5Signature("\x89HDF\r\n\x1a\n", 8);
constexpr std::string_view kManifestMark = "\"stallscope.dataset/";

namespace fs = std::filesystem;

bool IsFolder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}
bool Exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}
bool HasWildcard(std::string_view part) {
  return part.find_first_of("*?[") != std::string_view::npos;
}

// Only the generator's: another program's manifest.json is a file like any other.
bool IsOwnManifest(const std::string& path) {
  if (fs::path(path).filename() != kManifestFile || IsFolder(path)) return false;
  const auto look = LookAt(path);
  return look.ok() && look.value().kind == FileKind::kManifest;
}

// The names in a folder without those that begin with a dot, in byte order.
Result<std::vector<std::string>> NamesIn(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> names;
  fs::directory_iterator at(folder.empty() ? "." : folder, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    std::string name = at->path().filename().string();
    if (!name.starts_with('.')) names.push_back(std::move(name));
  }
  if (error) {
    return Error{ErrorKind::kRun, "cannot list the folder: " + error.message(), folder,
                 "check the path and its permissions"};
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string Joined(const std::string& folder, const std::string& name) {
  return folder.empty() || folder.ends_with('/') ? folder + name : folder + "/" + name;
}

// Appends what `pattern` matches below `folder`.
Status Match(const std::string& folder, std::string_view pattern, std::vector<std::string>& into) {
  const size_t slash = pattern.find('/');
  const std::string part(pattern.substr(0, slash));
  std::string_view rest = slash == std::string_view::npos ? "" : pattern.substr(slash);
  rest.remove_prefix(std::min(rest.find_first_not_of('/'), rest.size()));
  if (!HasWildcard(part)) {
    const std::string path = part.empty() ? "/" : Joined(folder, part);
    if (!Exists(path)) return {};
    if (!rest.empty()) return Match(path, rest, into);
    into.push_back(path);
    return {};
  }
  if (!folder.empty() && !IsFolder(folder)) return {};
  STALLSCOPE_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(folder));
  for (const std::string& name : names) {
    if (fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) != 0) continue;
    const std::string path = Joined(folder, name);
    if (rest.empty()) {
      into.push_back(path);
    } else if (IsFolder(path)) {
      STALLSCOPE_RETURN_IF_ERROR(Match(path, rest, into));
    }
  }
  return {};
}

// Files and folders that the pattern matches, manifests left out. None is an error.
Result<std::vector<std::string>> PathsOf(const std::string& pattern) {
  std::vector<std::string> paths;
  if (Exists(pattern)) {
    paths.push_back(pattern);
  } else {
    STALLSCOPE_RETURN_IF_ERROR(Match("", pattern, paths));
    std::sort(paths.begin(), paths.end());
  }
  std::erase_if(paths, &IsOwnManifest);
  if (paths.empty()) {
    return Error{ErrorKind::kRun, "no file matches", pattern,
                 "check the path; relative paths start at the working directory"};
  }
  return paths;
}

Error NoPatterns() {
  return Error{ErrorKind::kRun, "no files given", "", "list them in the source's files"};
}

// Collects images with their class's name; labels follow when all classes are known.
class ImageCollector {
 public:
  void AddFile(const std::string& path) {
    if (!seen_.insert(path).second) return;
    const fs::path absolute = fs::absolute(path).lexically_normal();
    files_.emplace_back(path, absolute.parent_path().filename().string());
    classes_[files_.back().second];
  }

  // A class's folder, or a folder of those.
  Status AddFolder(const std::string& folder, bool is_class) {
    STALLSCOPE_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesIn(folder));
    std::vector<std::string> folders;
    std::vector<std::string> files;
    for (const std::string& name : names) {
      const std::string path = Joined(folder, name);
      if (IsFolder(path)) {
        folders.push_back(path);
      } else if (!IsOwnManifest(path)) {
        files.push_back(path);
      }
    }
    if (!folders.empty() && (is_class || !files.empty())) {
      return Error{ErrorKind::kRun,
                   is_class ? "a class folder contains a folder"
                            : "there are files next to the class folders",
                   is_class ? folders.front() : files.front(),
                   "use one folder per class, with nothing but images in it"};
    }
    for (const std::string& path : folders) STALLSCOPE_RETURN_IF_ERROR(AddFolder(path, true));
    for (const std::string& path : files) AddFile(path);
    if (folders.empty() && (is_class || !files.empty())) {
      classes_[fs::absolute(folder + "/").lexically_normal().parent_path().filename().string()];
    }
    return {};
  }

  ImageFolder Take() {
    ImageFolder result;
    for (auto& [name, label] : classes_) {
      label = static_cast<int64_t>(result.classes.size());
      result.classes.push_back(name);
    }
    for (auto& [path, name] : files_) result.files.push_back({std::move(path), classes_[name]});
    return result;
  }

 private:
  std::vector<std::pair<std::string, std::string>> files_;
  std::unordered_set<std::string> seen_;
  std::map<std::string, int64_t> classes_;  // sorted by bytes, as std::string compares
};

}  // namespace

std::string_view Name(FileKind kind) {
  switch (kind) {
    case FileKind::kEmpty:
      return "an empty file";
    case FileKind::kTfRecord:
      return "a TFRecord file";
    case FileKind::kJpeg:
      return "a JPEG";
    case FileKind::kPng:
      return "a PNG";
    case FileKind::kHdf5:
      return "an HDF5 file";
    case FileKind::kRawTensors:
      return "a file of raw tensors";
    case FileKind::kManifest:
      return "a data set's manifest";
    case FileKind::kText:
      return "text";
    case FileKind::kUnknown:
      break;
  }
  return "a file of an unknown kind";
}

bool LooksLikeText(ByteView bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t c) {
    return c >= 0x20 ? c != 0x7f : c == '\n' || c == '\r' || c == '\t';
  });
}

FileKind KindOf(ByteView first_bytes) {
  if (first_bytes.empty()) return FileKind::kEmpty;
  if (TfRecordReader::LooksLikeRecord(first_bytes)) return FileKind::kTfRecord;
  if (LooksLikeJpeg(first_bytes)) return FileKind::kJpeg;
  if (LooksLikePng(first_bytes)) return FileKind::kPng;
  if (LooksLikeRawTensors(first_bytes)) return FileKind::kRawTensors;
  if (AsText(first_bytes).starts_with(kHdf5Signature)) return FileKind::kHdf5;
  if (!LooksLikeText(first_bytes)) return FileKind::kUnknown;
  const std::string_view text = AsText(first_bytes);
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start != std::string_view::npos && text[start] == '{' &&
      text.find(kManifestMark) != std::string_view::npos) {
    return FileKind::kManifest;
  }
  return FileKind::kText;
}

Result<FileLook> LookAt(const std::string& path) {
  ReadOptions options;
  STALLSCOPE_ASSIGN_OR_RETURN(auto source, OpenFileSource(path, options));
  Buffer first(kLookBytes);
  STALLSCOPE_ASSIGN_OR_RETURN(const size_t size, ReadFully(*source, first.data(), first.size()));
  first.Resize(size);
  FileLook look{KindOf(first), Compression::kNone};
  if (look.kind != FileKind::kUnknown) return look;
  const Compression compression = CompressionOf(first);
  if (compression == Compression::kNone) return look;
  auto unpacked = OpenInflateSource(OpenMemorySource(path, first), compression);
  Buffer inner(kLookBytes);
  size_t end = 0;
  while (end < inner.size()) {
    const auto got = unpacked->Read(inner.data() + end, inner.size() - end);
    if (!got.ok() || got.value() == 0) break;  // the peek ends inside the packed data
    end += got.value();
  }
  inner.Resize(end);
  return FileLook{KindOf(inner), compression};
}

Status ExpectKind(const std::string& path, FileKind kind) {
  STALLSCOPE_ASSIGN_OR_RETURN(const FileLook look, LookAt(path));
  if (look.kind == kind) return {};
  const bool may_be_empty =
      kind == FileKind::kTfRecord || kind == FileKind::kText || kind == FileKind::kRawTensors;
  if (look.kind == FileKind::kEmpty && may_be_empty) return {};
  return Error{ErrorKind::kRun, fmt::format("expected {}, found {}", Name(kind), Name(look.kind)),
               path, "name only files of one kind, or set on_error to skip"};
}

Result<std::vector<std::string>> ExpandFiles(std::span<const std::string> patterns) {
  if (patterns.empty()) return NoPatterns();
  std::vector<std::string> files;
  std::unordered_set<std::string> seen;
  for (const std::string& pattern : patterns) {
    STALLSCOPE_ASSIGN_OR_RETURN(const std::vector<std::string> paths, PathsOf(pattern));
    for (const std::string& path : paths) {
      if (IsFolder(path)) {
        return Error{ErrorKind::kRun, "is a folder, not a file", path,
                     "name the files in it: " + Joined(path, "*")};
      }
      if (seen.insert(path).second) files.push_back(path);
    }
  }
  return files;
}

Result<ImageFolder> ExpandImages(std::span<const std::string> patterns) {
  if (patterns.empty()) return NoPatterns();
  ImageCollector collector;
  for (const std::string& pattern : patterns) {
    STALLSCOPE_ASSIGN_OR_RETURN(const std::vector<std::string> paths, PathsOf(pattern));
    for (const std::string& path : paths) {
      if (IsFolder(path)) {
        STALLSCOPE_RETURN_IF_ERROR(collector.AddFolder(path, false));
      } else {
        collector.AddFile(path);
      }
    }
  }
  ImageFolder folder = collector.Take();
  if (folder.files.empty()) {
    return Error{ErrorKind::kRun, "contains no images", patterns.front(),
                 "use one folder per class, with the images in it"};
  }
  return folder;
}

}  // namespace stallscope::data
