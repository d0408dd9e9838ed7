#include "collectors/data/manifest.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "analyzer/base/escape.h"
#include "analyzer/base/file.h"
#include "collectors/data/byte_source.h"

namespace stallscope::data {
namespace {

constexpr std::string_view kSchema = "stallscope.dataset/1";
constexpr uint64_t kMaxManifestBytes = uint64_t{1} << 30;
constexpr std::pair<DataFormat, std::string_view> kFormats[] = {
    {DataFormat::kTfRecord, "tfrecord"}, {DataFormat::kImages, "images"}, {DataFormat::kCsv, "csv"},
    {DataFormat::kHdf5, "hdf5"},         {DataFormat::kRaw, "raw"},
};

// An incremental hash; the state needs the alignment of the library's own allocation.
class Hash {
 public:
  Hash() : state_(XXH3_createState()) { XXH3_128bits_reset(state_.get()); }
  void Add(ByteView bytes) { XXH3_128bits_update(state_.get(), bytes.data(), bytes.size()); }
  std::string Digest() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

Status MeasureFile(const std::string& path, ManifestFile& file, Buffer& block) {
  STALLSCOPE_ASSIGN_OR_RETURN(auto source, OpenFileSource(path, {}));
  Hash hash;
  file.bytes = 0;
  for (;;) {
    STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, source->Read(block.data(), block.size()));
    if (got == 0) break;
    hash.Add(block.view().first(got));
    file.bytes += got;
  }
  file.hash = hash.Digest();
  return {};
}

Manifest FromJson(const nlohmann::json& json) {
  Manifest manifest;
  manifest.format = DataFormatNamed(json.at("format").get<std::string>()).value();
  manifest.images = json.at("images").get<int64_t>();
  const auto size = json.at("size").get<std::string>();
  if (std::sscanf(size.c_str(), "%dx%d", &manifest.width, &manifest.height) != 2) {
    throw std::bad_optional_access();
  }
  manifest.classes = json.at("classes").get<int>();
  manifest.seed = json.at("seed").get<uint64_t>();
  manifest.shards = json.at("shards").get<int>();
  manifest.quality = json.at("quality").get<int>();
  manifest.fingerprint = json.at("fingerprint").get<std::string>();
  if (json.contains("class_names")) {
    manifest.class_names = json.at("class_names").get<std::vector<std::string>>();
  }
  for (const auto& file : json.at("files")) {
    manifest.files.push_back({file.at("name").get<std::string>(), file.at("bytes").get<uint64_t>(),
                              file.at("records").get<uint64_t>(),
                              file.at("xxh3_128").get<std::string>()});
  }
  return manifest;
}

}  // namespace

std::string_view Name(DataFormat format) {
  for (const auto& [value, name] : kFormats) {
    if (value == format) return name;
  }
  return "";
}

std::optional<DataFormat> DataFormatNamed(std::string_view name) {
  for (const auto& [value, known] : kFormats) {
    if (known == name) return value;
  }
  return std::nullopt;
}

Status WriteManifest(const std::string& folder, const Manifest& manifest) {
  nlohmann::ordered_json json;
  json["schema"] = kSchema;
  json["format"] = Name(manifest.format);
  json["images"] = manifest.images;
  json["size"] = fmt::format("{}x{}", manifest.width, manifest.height);
  json["classes"] = manifest.classes;
  if (!manifest.class_names.empty()) json["class_names"] = manifest.class_names;
  json["seed"] = manifest.seed;
  json["shards"] = manifest.shards;
  json["quality"] = manifest.quality;
  json["fingerprint"] = manifest.fingerprint;
  json["files"] = nlohmann::ordered_json::array();
  for (const ManifestFile& file : manifest.files) {
    json["files"].push_back({{"name", file.name},
                             {"bytes", file.bytes},
                             {"records", file.records},
                             {"xxh3_128", file.hash}});
  }
  return WriteFileAtomically(folder + "/" + std::string(kManifestFile), JsonText(json, 1) + "\n");
}

Result<Manifest> ReadManifest(const std::string& folder) {
  const std::string path = folder + "/" + std::string(kManifestFile);
  STALLSCOPE_RETURN_IF_ERROR(OpenFileSource(path, {}));
  STALLSCOPE_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, kMaxManifestBytes));
  try {
    const auto json = nlohmann::json::parse(text);
    if (json.at("schema") == kSchema) return FromJson(json);
  } catch (const nlohmann::json::exception&) {
  } catch (const std::bad_optional_access&) {
  }
  return Error{ErrorKind::kInput, "not a data set's manifest", path, "generate the data set again"};
}

Status MeasureFiles(const std::string& folder, Manifest& manifest) {
  Buffer block(size_t{1} << 20);
  Hash whole;
  for (ManifestFile& file : manifest.files) {
    STALLSCOPE_RETURN_IF_ERROR(MeasureFile(folder + "/" + file.name, file, block));
    whole.Add(AsBytes(file.name + " " + file.hash + "\n"));
  }
  manifest.fingerprint = whole.Digest();
  return {};
}

}  // namespace stallscope::data
