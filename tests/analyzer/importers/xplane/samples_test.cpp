// The samples that other profilers recorded read as sample_traces/README.md says.
#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "tests/analyzer/importers/judged.h"
#include "tests/analyzer/importers/xplane/read.h"
#include "tests/analyzer/sample_page.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)
using test::Judge;
using test::Judged;
using test::ReadXPlaneFile;

TEST_SUITE("fast") {
  TEST_CASE("the XPlane samples have the documented verdicts") {
    const auto samples =
        test::SamplesOnPage(R"(\| `([^`]+\.xplane\.pb\.gz)` \| xplane \|.*\| ([^|]+) \|)");
    for (const test::Sample& sample : samples) {
      CAPTURE(sample.path);
      CHECK(Judge(ReadXPlaneFile(sample.path)).verdict.text == sample.verdict);
    }
    CHECK(samples.size() == 10);
  }

  TEST_CASE("the slow pipeline gets the advice to map in parallel and prefetch") {
    const Judged slow = Judge(ReadXPlaneFile(test::SamplePath("tf_images_slow.xplane.pb.gz")));
    const auto code = [&](const std::string& id) -> std::string {
      const findings::Finding* const finding = slow.FindingOf(id);
      if (finding == nullptr || !finding->recommendation.has_value()) return "no " + id;
      return finding->recommendation->code.tf_data;
    };
    CHECK(code("map-parallelism").find("num_parallel_calls") != std::string::npos);
    CHECK(code("prefetch").find("prefetch") != std::string::npos);
  }

  TEST_CASE("a Python generator and a py_function are serial, and more workers are no advice") {
    for (const auto& [file, word] :
         {std::pair{"tf_images_generator.xplane.pb.gz", "Python generator"},
          std::pair{"tf_images_python.xplane.pb.gz", "EagerPyFunc"}}) {
      const std::string name = file;  // clang 14 captures no structured bindings
      CAPTURE(name);
      const Judged judged = Judge(ReadXPlaneFile(test::SamplePath(name)));
      const findings::Finding* const finding = judged.FindingOf("serial-source");
      REQUIRE(finding != nullptr);
      CHECK(finding->text.find(word) != std::string::npos);
      CHECK_FALSE(finding->recommendation->code.tf_data.empty());
      CHECK(judged.FindingOf("map-parallelism") == nullptr);
      CHECK(judged.FindingOf("parallel-reads") == nullptr);
    }
    const Judged slow = Judge(ReadXPlaneFile(test::SamplePath("tf_images_slow.xplane.pb.gz")));
    CHECK(slow.FindingOf("serial-source") == nullptr);
  }

  TEST_CASE("reading large records one by one is found without a known cause") {
    const Judged records =
        Judge(ReadXPlaneFile(test::SamplePath("tf_images_records.xplane.pb.gz")));
    const findings::Finding* const finding = records.FindingOf("parallel-reads");
    REQUIRE(finding != nullptr);
    CHECK(finding->text.find("TFRecord") != std::string::npos);
    CHECK(finding->recommendation->code.tf_data.find("interleave") != std::string::npos);
    CHECK(records.FindingOf("decode-scaled") == nullptr);
    const Judged slow = Judge(ReadXPlaneFile(test::SamplePath("tf_images_slow.xplane.pb.gz")));
    CHECK(slow.FindingOf("parallel-reads") == nullptr);
  }

  TEST_CASE("a file for each image is a slow format, and its near miss reads records") {
    const Judged files = Judge(ReadXPlaneFile(test::SamplePath("tf_images_files.xplane.pb.gz")));
    const findings::Finding* const finding = files.FindingOf("record-format");
    REQUIRE(finding != nullptr);
    CHECK(finding->text.find("ReadFile") != std::string::npos);
    CHECK(finding->recommendation->code.tf_data.find("TFRecordWriter") != std::string::npos);
    CHECK(finding->recommendation->code.pytorch.empty());
    for (const char* const name : {"tf_images_slow", "tf_images_records", "tf_images_python"}) {
      CAPTURE(name);
      const std::string path = test::SamplePath(std::string(name) + ".xplane.pb.gz");
      CHECK(Judge(ReadXPlaneFile(path)).FindingOf("record-format") == nullptr);
    }
  }

  TEST_CASE("what AUTOTUNE chooses is no number of workers to set, and a small shuffle shows") {
    const Judged tuned = Judge(ReadXPlaneFile(test::SamplePath("tf_images_tuned.xplane.pb.gz")));
    CHECK(tuned.FindingOf("map-parallelism") == nullptr);
    CHECK(tuned.FindingOf("decode-scaled") != nullptr);
    const findings::Finding* const shuffle = tuned.FindingOf("shuffle-buffer");
    REQUIRE(shuffle != nullptr);
    CHECK(shuffle->text.find("only 16 elements for batches of 32") != std::string::npos);
    CHECK(shuffle->recommendation->code.tf_data == "ds = ds.shuffle(512)");
    const Judged slow = Judge(ReadXPlaneFile(test::SamplePath("tf_images_slow.xplane.pb.gz")));
    CHECK(slow.FindingOf("map-parallelism") != nullptr);
    CHECK(slow.FindingOf("shuffle-buffer") == nullptr);
  }

  TEST_CASE("batches of several sizes trace the step again, and so does the first step") {
    const Judged shapes = Judge(ReadXPlaneFile(test::SamplePath("tf_images_shapes.xplane.pb.gz")));
    for (const char* const id : {"retracing", "warm-up"}) {
      CAPTURE(id);
      const findings::Finding* const finding = shapes.FindingOf(id);
      REQUIRE(finding != nullptr);
      CHECK(finding->text.find("compilation") != std::string::npos);
      REQUIRE(finding->recommendation.has_value());
      CHECK(finding->recommendation->code.tf_data.find("input_signature") != std::string::npos);
    }
    const Judged fixed = Judge(ReadXPlaneFile(test::SamplePath("tf_images_fixed.xplane.pb.gz")));
    CHECK(fixed.FindingOf("retracing") == nullptr);
    CHECK(fixed.FindingOf("warm-up") == nullptr);
  }

  TEST_CASE("an untidy pipeline's order and its repeated work show, and a tidy one has neither") {
    const Judged untidy = Judge(ReadXPlaneFile(test::SamplePath("tf_images_untidy.xplane.pb.gz")));
    const Judged slow = Judge(ReadXPlaneFile(test::SamplePath("tf_images_slow.xplane.pb.gz")));
    for (const auto& [id, words] :
         {std::pair{"late-cast", "runs Cast before ReverseV2"},
          std::pair{"redundant-work", "runs ResizeBilinear and then ResizeBilinear"}}) {
      const std::string name = id;  // clang 14 captures no structured bindings
      CAPTURE(name);
      const findings::Finding* const finding = untidy.FindingOf(name);
      REQUIRE(finding != nullptr);
      CHECK(finding->text.find(words) != std::string::npos);
      CHECK_FALSE(finding->recommendation->code.tf_data.empty());
      CHECK(slow.FindingOf(name) == nullptr);
    }
    // Both repeat what a cache would keep; the fixed one has it.
    const Judged fixed = Judge(ReadXPlaneFile(test::SamplePath("tf_images_fixed.xplane.pb.gz")));
    for (const char* const id : {"cache", "snapshot"}) {
      CAPTURE(id);
      CHECK(untidy.FindingOf(id) != nullptr);
      CHECK(slow.FindingOf(id) != nullptr);
      CHECK(fixed.FindingOf(id) == nullptr);
    }
  }

  TEST_CASE("decoding whole pictures shows in TensorFlow's own operations") {
    const Judged slow = Judge(ReadXPlaneFile(test::SamplePath("tf_images_slow.xplane.pb.gz")));
    const findings::Finding* const finding = slow.FindingOf("decode-scaled");
    REQUIRE(finding != nullptr);
    CHECK(finding->text.find("DecodeJpeg") != std::string::npos);
    CHECK(finding->text.find("Resize") != std::string::npos);
    CHECK(finding->recommendation->code.tf_data.find("ratio=") != std::string::npos);
    CHECK(finding->recommendation->code.tf_data.find("decode_and_crop_jpeg") != std::string::npos);
    const Judged fixed = Judge(ReadXPlaneFile(test::SamplePath("tf_images_fixed.xplane.pb.gz")));
    CHECK(fixed.FindingOf("decode-scaled") == nullptr);
  }
}
