// Every panel of every sample trace, and of traces that are none: drawn over and over while a user
// moves about without any aim.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tests/gui/views/stage.h"
#include "tests/support/paths.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)

namespace {

namespace fs = std::filesystem;

std::vector<std::string> FilesIn(const std::string& folder, const std::string& ending) {
  std::vector<std::string> files;
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(folder, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->is_regular_file(error) && (ending.empty() || entry->path().extension() == ending)) {
      files.push_back(entry->path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Wheel, drag and keys, but nothing that opens a dialog or starts a replay.
void Wander(test::Stage& stage, int frames, std::mt19937& random) {
  ImGuiIO& io = ImGui::GetIO();
  const auto any = [&](int below) {
    return static_cast<int>(random() % static_cast<unsigned>(below));
  };
  for (int i = 0; i < frames; ++i) {
    io.MousePos = {static_cast<float>(any(1440) + 160), static_cast<float>(any(780) + 60)};
    io.MouseWheel = any(3) == 0 ? static_cast<float>(any(7) - 3) : 0;
    for (const char key : {'W', 'S', 'A', 'D'}) io.KeysDown[static_cast<int>(key)] = any(8) == 0;
    stage.Frame();
  }
  for (const char key : {'W', 'S', 'A', 'D'}) io.KeysDown[static_cast<int>(key)] = false;
  stage.Frame();
}

void DrawAllPanels(const std::string& trace, int frames) {
  CAPTURE(trace);
  std::mt19937 random(11);
  test::Stage stage;
  stage.Open(trace);
  for (const session::Panel panel : session::kAllPanels) {
    stage.Show(panel);
    Wander(stage, frames, random);
  }
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("every panel of every sample is drawn") {
    for (const std::string& trace : FilesIn(test::SourceDir() + "/sample_traces", ".sst")) {
      DrawAllPanels(trace, 3);
    }
  }
}

TEST_SUITE("slow") {
  TEST_CASE("every panel of every sample is drawn a thousand times") {
    for (const std::string& trace : FilesIn(test::SourceDir() + "/sample_traces", ".sst")) {
      DrawAllPanels(trace, 1000);
    }
  }

  TEST_CASE("every panel of every corpus of the fuzzer is drawn a thousand times") {
    for (const std::string& trace : FilesIn(test::SourceDir() + "/tests/fuzz/corpus", "")) {
      DrawAllPanels(trace, 1000);
    }
  }
}
