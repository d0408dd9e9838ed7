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

// The file has these in place of the folders of images and of their pixels.
constexpr std::pair<std::string_view, std::string_view> kFolders[] = {{"IMAGES", "/images"},
                                                                      {"PIXELS", "/pixels"}};

void MakeImages(const std::string& folder) {
  data::GenerateOptions options;
  options.folder = folder;
  options.images = 16;
  options.width = 200;
  options.height = 180;
  options.classes = 3;
  options.shards = 1;
  options.threads = 1;
  REQUIRE(data::Generate(options).ok());
}

void MakePixels(const std::string& images, const std::string& folder) {
  data::ConvertOptions options;
  options.sources = {images};
  options.folder = folder;
  options.format = data::DataFormat::kRaw;
  options.shards = 1;
  options.threads = 1;
  REQUIRE(data::Convert(options).ok());
}

}  // namespace

std::vector<Planted> AllPlanted(const std::string& folder) {
  MakeImages(folder + "/images");
  MakePixels(folder + "/images", folder + "/pixels");
  const auto text = ReadWholeFile(SourceDir() + "/tests/checklist/planted.json", 1 << 20);
  REQUIRE_MESSAGE(text.ok(), text.error().Line());
  std::vector<Planted> all;
  for (const auto& json : nlohmann::json::parse(text.value())) {
    Planted planted;
    planted.name = json.at("name");
    CAPTURE(planted.name);
    planted.row = json.at("row");
    planted.id = json.at("id");
    planted.speeds = json.at("speeds");
    std::string written = json.at("spec").dump();
    for (const auto& [word, place] : kFolders) {
      const size_t at = written.find(word);
      if (at != std::string::npos) written.replace(at, word.size(), folder + std::string(place));
    }
    auto spec = ReadSpec(written, "spec");
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
