// Which files a source reads, and what tells this data set from another.
#include <fmt/format.h>
#include <sys/stat.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>

#include "analyzer/base/file.h"
#include "collectors/data/byte_source.h"
#include "collectors/pipeline/reader.h"

namespace stallscope::pipeline {
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
    // Opening another thing, as a pipe that nobody writes to, may take for ever.
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

}  // namespace stallscope::pipeline
