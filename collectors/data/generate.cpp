#include "collectors/data/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <numeric>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "collectors/data/image_limits.h"
#include "collectors/data/sample_render.h"
#include "collectors/data/set_writer.h"

namespace stallscope::data {
namespace {

namespace fs = std::filesystem;

Error BadOption(std::string what, std::string hint) {
  return Error{ErrorKind::kUsage, std::move(what), "", std::move(hint)};
}

Status CheckOptions(const GenerateOptions& options) {
  if (options.images < 1 || options.images > 100'000'000) {
    return BadOption(fmt::format("--images {} is not possible", options.images),
                     "1 to 100000000 are");
  }
  const ImageLimits limits;
  if (options.width < 1 || options.height < 1 ||
      !CheckImageSize("the image", static_cast<uint32_t>(options.width),
                      static_cast<uint32_t>(options.height), limits)
           .ok()) {
    return BadOption(fmt::format("--size {}x{} is not possible", options.width, options.height),
                     "as 500x375, at most 67 million pixels");
  }
  if (options.classes < 1 || options.classes > 100'000) {
    return BadOption(fmt::format("--classes {} is not possible", options.classes),
                     "1 to 100000 are");
  }
  if (options.shards < 1 || options.shards > 99'999) {
    return BadOption(fmt::format("--shards {} is not possible", options.shards), "1 to 99999 are");
  }
  if (options.quality < 1 || options.quality > 100) {
    return BadOption(fmt::format("a JPEG quality of {} is not possible", options.quality),
                     "1 to 100 are");
  }
  return {};
}

Error FolderError(const std::string& folder, const std::error_code& error) {
  return Error{ErrorKind::kRun, "cannot use the folder: " + error.message(), folder,
               "check the path, its permissions and the free space"};
}

// Everything below `folder`, files and folders, as relative names.
Result<std::vector<std::string>> ContentOf(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    names.push_back(fs::path(at->path()).lexically_relative(folder).string());
  }
  if (error) return FolderError(folder, error);
  return names;
}

// Empties a folder that holds a data set of ours and nothing else; refuses any other content.
Status EmptyFolder(const std::string& folder) {
  STALLSCOPE_ASSIGN_OR_RETURN(const std::vector<std::string> content, ContentOf(folder));
  if (content.empty()) return {};
  std::set<std::string> ours;
  if (const auto manifest = ReadManifest(folder); manifest.ok()) {
    ours.insert(std::string(kManifestFile));
    for (const ManifestFile& file : manifest.value().files) ours.insert(file.name);
    for (int label = 0; label < manifest.value().classes; ++label) {
      if (manifest.value().format != DataFormat::kImages) break;
      ours.insert(ClassFolder(label, manifest.value().classes));
    }
  }
  for (const std::string& name : content) {
    if (ours.count(name) == 0) {
      return Error{ErrorKind::kUsage,
                   "the folder holds '" + name + "', which no data set put there", folder,
                   "name an empty folder, or one that does not exist yet"};
    }
  }
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    fs::remove_all(entry.path(), error);
    if (error) return FolderError(folder, error);
  }
  if (error) return FolderError(folder, error);
  return {};
}

// Makes the folder usable. Gives the topmost folder that had to be made; empty where none.
Result<std::string> PrepareFolder(const std::string& folder) {
  std::error_code error;
  if (fs::exists(folder, error)) {
    if (!fs::is_directory(folder, error)) {
      return Error{ErrorKind::kUsage, "is a file, not a folder", folder, "name a folder"};
    }
    STALLSCOPE_RETURN_IF_ERROR(EmptyFolder(folder));
    return std::string();
  }
  fs::path topmost = fs::absolute(folder).lexically_normal();
  if (!topmost.has_filename()) topmost = topmost.parent_path();
  while (topmost.has_parent_path() && !fs::exists(topmost.parent_path(), error)) {
    topmost = topmost.parent_path();
  }
  fs::create_directories(folder, error);
  if (error) return FolderError(folder, error);
  return topmost.string();
}

// After an error: leaves what was there before.
void Undo(const std::string& folder, const std::string& made) {
  std::error_code ignored;
  if (!made.empty()) {
    fs::remove_all(made, ignored);
    return;
  }
  // The folder was empty, or emptied, when we began.
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    fs::remove_all(entry.path(), ignored);
  }
}

Result<Manifest> WriteAll(const GenerateOptions& options, const OnProgress& on_progress) {
  SampleRender render(options);
  const std::unique_ptr<SetWriter> writer = MakeSetWriter(options);
  Sample sample;
  for (int64_t image = 0; image < options.images; ++image) {
    STALLSCOPE_RETURN_IF_ERROR(render.Take(sample));
    STALLSCOPE_RETURN_IF_ERROR(writer->Write(image, sample));
    if (on_progress && !on_progress({image + 1, options.images})) {
      return Error{ErrorKind::kRun, "stopped; what was written is removed again", options.folder,
                   ""};
    }
  }
  Manifest manifest{options.format,
                    options.images,
                    options.width,
                    options.height,
                    options.classes,
                    options.seed,
                    options.shards,
                    options.quality,
                    "",
                    {}};
  STALLSCOPE_ASSIGN_OR_RETURN(manifest.files, writer->Finish());
  STALLSCOPE_RETURN_IF_ERROR(MeasureFiles(options.folder, manifest));
  STALLSCOPE_RETURN_IF_ERROR(WriteManifest(options.folder, manifest));
  return manifest;
}

}  // namespace

int LabelOf(uint64_t seed, int64_t image, int classes) {
  // A fixed stride through the classes, of the block's own choice, visits each class once: a
  // shuffle without a table.
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
  STALLSCOPE_ASSIGN_OR_RETURN(const std::string made, PrepareFolder(options.folder));
  Result<Manifest> written = WriteAll(options, on_progress);
  if (!written.ok()) Undo(options.folder, made);
  return written;
}

}  // namespace stallscope::data
