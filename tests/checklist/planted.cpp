#include "tests/checklist/planted.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "analyzer/base/file.h"
#include "analyzer/spec/knobs.h"
#include "analyzer/spec/spec_json.h"
#include "collectors/data/convert_set.h"
#include "collectors/data/generate.h"
#include "tests/support/paths.h"

namespace stallscope::test {
namespace {

// The file has these in place of the folders of data: pictures, their pixels, these as text,
// thumbnails, and a file for each of these.
constexpr std::pair<std::string_view, std::string_view> kFolders[] = {{"IMAGES", "/images"},
                                                                      {"PIXELS", "/pixels"},
                                                                      {"TEXTS", "/texts"},
                                                                      {"THUMBNAILS", "/thumbnails"},
                                                                      {"FILES", "/files"}};

void Generate(const std::string& folder, int images, int width, int height) {
  data::GenerateOptions options;
  options.folder = folder;
  options.images = images;
  options.width = width;
  options.height = height;
  options.classes = 3;
  options.shards = 1;
  options.threads = 1;
  REQUIRE(data::Generate(options).ok());
}

void ConvertTo(data::DataFormat format, std::vector<std::string> sources,
               const std::string& folder) {
  data::ConvertOptions options;
  options.sources = std::move(sources);
  options.folder = folder;
  options.format = format;
  if (format != data::DataFormat::kImages) options.shards = 1;
  options.threads = 1;
  const auto converted = data::Convert(options);
  REQUIRE_MESSAGE(converted.ok(), converted.error().Line());
}

std::string WithFolders(std::string text, const std::string& folder) {
  for (const auto& [word, place] : kFolders) {
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
      text.replace(at, word.size(), folder + std::string(place));
      at += folder.size() + place.size();
    }
  }
  return text;
}

}  // namespace

void Prepare(const Spec& before, Spec& changed, const std::string& folder) {
  const auto& source = std::get<SourceSpec>(before.stages.front().kind);
  const auto& converted = std::get<SourceSpec>(changed.stages.front().kind);
  if (converted.format != source.format) {
    const std::string& files = converted.files.front();
    ConvertTo(converted.format == SourceFormat::kRaw ? data::DataFormat::kRaw
                                                     : data::DataFormat::kTfRecord,
              source.files, files.substr(0, files.rfind('/')));
  }
  for (StageSpec& stage : changed.stages) {
    if (auto* const snapshot = std::get_if<SnapshotSpec>(&stage.kind)) {
      snapshot->path = folder + "/" + snapshot->path;
    }
  }
}

std::vector<Planted> AllPlanted(const std::string& folder) {
  Generate(folder + "/images", 16, 200, 180);
  ConvertTo(data::DataFormat::kRaw, {folder + "/images"}, folder + "/pixels");
  ConvertTo(data::DataFormat::kCsv, {folder + "/images"}, folder + "/texts");
  Generate(folder + "/thumbnails", 64, 16, 16);
  ConvertTo(data::DataFormat::kImages, {folder + "/thumbnails"}, folder + "/files");
  const auto text = ReadWholeFile(SourceDir() + "/tests/checklist/planted.json", 1 << 20);
  REQUIRE_MESSAGE(text.ok(), text.error().Line());
  std::vector<Planted> all;
  for (const auto& json : nlohmann::json::parse(WithFolders(text.value(), folder))) {
    Planted planted;
    planted.name = json.at("name");
    CAPTURE(planted.name);
    planted.row = json.at("row");
    planted.id = json.at("id");
    planted.speeds = json.at("speeds");
    auto spec = ReadSpec(json.at("spec").dump(), "spec");
    REQUIRE_MESSAGE(spec.ok(), spec.error().Line());
    auto sound = ApplySettings(spec.value(), json.at("sound"));
    REQUIRE_MESSAGE(sound.ok(), sound.error().Line());
    planted.spec = std::move(spec).value();
    planted.sound = std::move(sound).value();
    all.push_back(std::move(planted));
  }
  return all;
}

}  // namespace stallscope::test
