// Every panel in both themes at two scales, drawn without a display and compared with what was
// looked at and found good. The pictures themselves lie in the build folder under screenshots/.
//
// STALLSCOPE_UPDATE_GOLDEN=1 writes the golden pictures anew, after a change that somebody has
// looked at.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "analyzer/base/file.h"
#include "gui/raster/image.h"
#include "tests/gui/views/image_likeness.h"
#include "tests/gui/views/stage.h"
#include "tests/support/paths.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)

namespace {

constexpr int kSmaller = 4;  // of a picture at scale 1

std::string NameOf(const std::string& what, session::Theme theme, int scale) {
  return what + (theme == session::Theme::kDark ? "_dark_" : "_light_") + std::to_string(scale) +
         "x.png";
}

void Write(const raster::Image& image, const std::string& path) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  const auto png = raster::EncodePng(image);
  REQUIRE(png.ok());
  const Status written = WriteFileAtomically(path, png.value());
  REQUIRE_MESSAGE(written.ok(), (written.ok() ? "" : written.error().Line()));
}

void CheckGolden(const raster::Image& image, const std::string& name, int scale) {
  Write(image, test::BuildDir() + "/screenshots/" + name);
  const raster::Image small = test::Smaller(image, kSmaller * scale);
  const std::string golden = test::SourceDir() + "/tests/golden/gui/" + name;
  if (std::getenv("STALLSCOPE_UPDATE_GOLDEN") != nullptr) Write(small, golden);
  const auto expected = test::ReadPicture(golden);
  REQUIRE_MESSAGE(expected.ok(), (expected.ok() ? "" : expected.error().Line()));
  REQUIRE(expected.value().width == small.width);
  REQUIRE(expected.value().height == small.height);
  const test::Difference difference = test::Compare(expected.value(), small);
  CAPTURE(name);
  CAPTURE(difference.mean);
  CAPTURE(difference.worst);
  // A word that is missing is far off in about 0.2 % of the pixels, another theme in all.
  CHECK(difference.mean < 0.6);
  CHECK(difference.far < 0.001);
}

void DrawAll(session::Theme theme, int scale) {
  test::StageOptions options;
  options.theme = theme;
  options.scale = scale;
  options.width = 1280;
  options.height = 800;
  test::Stage stage(options);
  // By a path that is the same on every machine: it stands in the pictures.
  std::filesystem::current_path(test::SourceDir());
  stage.Open("sample_traces/input_decode.sst");
  for (const session::Panel panel : session::kAllPanels) {
    stage.Show(panel);
    const std::string what(session::WordFor(panel));
    CheckGolden(stage.Picture(), NameOf(what, theme, scale), scale);
  }
}

// What there is to see only after something was done: two runs beside each other, a sweep that has
// its points, and a stall that is explained.
void DrawDone(session::Theme theme, int scale) {
  test::StageOptions options;
  options.theme = theme;
  options.scale = scale;
  options.width = 1280;
  options.height = 800;
  test::Stage stage(options);
  const auto check = [&](session::Panel panel, const std::string& what) {
    stage.Show(panel);
    CheckGolden(stage.Picture(), NameOf(what, theme, scale), scale);
  };
  const auto ask = [&](auto asked) {
    session::Intents intents;
    intents.Add(std::move(asked));
    stage.Ask(intents);
  };
  // A sweep lies beside its trace, where nothing may be left among the samples.
  const test::ScratchDir dir;
  std::filesystem::copy_file(test::SourceDir() + "/sample_traces/input_decode.sst",
                             dir / "input_decode.sst");
  stage.Open(dir / "input_decode.sst");
  ask(session::intent::EditSweep{{"decode.parallelism=1,2,4", "prefetch.buffer_size=1,2,4"},
                                 session::SweepRunMode::kSimulate,
                                 1});
  ask(session::intent::StartSweep{});
  check(session::Panel::kSweep, "swept");
  ask(session::intent::OpenFile{test::SourceDir() + "/sample_traces/input_contention.sst", true});
  check(session::Panel::kCompare, "compared");
  stage.Show(session::Panel::kTimeline);
  ask(session::intent::SelectStep{4, true});
  ask(session::intent::FitSelection{});
  check(session::Panel::kTimeline, "explained");
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("golden pictures of every panel, dark, 1x") { DrawAll(session::Theme::kDark, 1); }
  TEST_CASE("golden pictures of every panel, light, 1x") { DrawAll(session::Theme::kLight, 1); }
  TEST_CASE("golden pictures of every panel, dark, 2x") { DrawAll(session::Theme::kDark, 2); }
  TEST_CASE("golden pictures of every panel, light, 2x") { DrawAll(session::Theme::kLight, 2); }
  TEST_CASE("golden pictures after actions, dark, 1x") { DrawDone(session::Theme::kDark, 1); }
  TEST_CASE("golden pictures after actions, light, 2x") { DrawDone(session::Theme::kLight, 2); }
}
