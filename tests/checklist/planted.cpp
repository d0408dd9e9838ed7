#include "tests/checklist/planted.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "analyzer/base/file.h"
#include "analyzer/spec/knobs.h"
#include "analyzer/spec/spec_json.h"
#include "collectors/data/generate.h"
#include "tests/support/paths.h"

namespace stallscope::test {
namespace {

// The file has this in place of the folder of images.
constexpr std::string_view kImages = "IMAGES";

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

}  // namespace

std::vector<Planted> AllPlanted(const std::string& folder) {
  MakeImages(folder + "/images");
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
    if (const size_t at = written.find(kImages); at != std::string::npos) {
      written.replace(at, kImages.size(), folder + "/images");
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
