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
    CHECK(samples.size() == 6);
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
    for (const auto& [name, word] :
         {std::pair{"tf_images_generator.xplane.pb.gz", "Python generator"},
          std::pair{"tf_images_python.xplane.pb.gz", "EagerPyFunc"}}) {
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
