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

#include "collectors/data/file_kind.h"

namespace stallscope::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kManifestName = "manifest.json";

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
  if (fs::path(path).filename() != kManifestName || IsFolder(path)) return false;
  const auto look = LookAt(path);
  return look.ok() && look.value().kind == FileKind::kManifest;
}

// The names in a folder without those that begin with a dot, in the order of their bytes.
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
                 "check the path; relative ones begin at the working folder"};
  }
  return paths;
}

Error NoPatterns() {
  return Error{ErrorKind::kRun, "no files are named", "", "name them in the source's files"};
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
                   is_class ? "a folder lies within a class's folder"
                            : "files lie beside the folders of classes",
                   is_class ? folders.front() : files.front(),
                   "one folder a class, with nothing but images in it"};
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

Result<std::vector<std::string>> ExpandFiles(std::span<const std::string> patterns) {
  if (patterns.empty()) return NoPatterns();
  std::vector<std::string> files;
  std::unordered_set<std::string> seen;
  for (const std::string& pattern : patterns) {
    STALLSCOPE_ASSIGN_OR_RETURN(const std::vector<std::string> paths, PathsOf(pattern));
    for (const std::string& path : paths) {
      if (IsFolder(path)) {
        return Error{ErrorKind::kRun, "is a folder, not a file", path,
                     "name the files in it, as in " + Joined(path, "*")};
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
    return Error{ErrorKind::kRun, "no image is in it", patterns.front(),
                 "one folder a class, with the images in it"};
  }
  return folder;
}

}  // namespace stallscope::data
