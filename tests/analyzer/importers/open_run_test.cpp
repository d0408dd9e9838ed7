#include "analyzer/importers/open_run.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "analyzer/base/file.h"
#include "tests/support/paths.h"

using namespace stallscope;
using importers::OpenRun;

namespace {

std::string RefusalOf(const std::string& name, const std::string& content) {
  const test::ScratchDir dir;
  const std::string path = dir / name;
  REQUIRE(WriteFileAtomically(path, content).ok());
  const auto run = OpenRun(path);
  REQUIRE_FALSE(run.ok());
  CHECK(run.error().kind == ErrorKind::kInput);
  CHECK(run.error().where == path);
  CHECK(run.error().Line().find('\n') == std::string::npos);
  return run.error().what + "; " + run.error().hint;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("JSON traces are told from other JSON") {
    const test::ScratchDir dir;
    const auto is_trace = [&](const std::string& content) {
      REQUIRE(WriteFileAtomically(dir / "file.json", content).ok());
      const auto known = importers::IsTrace(dir / "file.json");
      REQUIRE(known.ok());
      return known.value();
    };
    CHECK(is_trace(R"({"schemaVersion": 1, "traceEvents": []})"));
    CHECK(is_trace(R"([{"ph": "X", "name": "a"}])"));
    CHECK(is_trace(R"({"nodes": [{"callFrame": {}}], "traceEvents": []})"));
    CHECK_FALSE(is_trace(R"({"nodes": [{"callFrame": {}}], "schemaVersion": 1})"));
    CHECK_FALSE(is_trace(R"({"stages": [{"name": "read", "source": {"format": "synthetic"}}]})"));
    CHECK_FALSE(is_trace(""));
    CHECK_FALSE(importers::IsTrace(dir / "none.json").ok());
  }

  TEST_CASE("a file that no importer knows is named") {
    const auto looks = [&](const std::string& content) {
      const std::string line = RefusalOf("run.sst", content);
      const std::string before = "it looks like ";
      const size_t at = line.find(before);
      return at == std::string::npos
                 ? line
                 : line.substr(at + before.size(), line.find(';') - at - before.size());
    };
    CHECK(looks("\x89PNG\r\n\x1a\n....") == "a PNG image");
    CHECK(looks("\x7f"
                "ELF\x02\x01") == "an ELF program or library");
    CHECK(looks("PK\x03\x04") == "a zip archive");
    CHECK(looks("just words\n") == "text");
    CHECK(looks(std::string(257, 'a') + "ustar") == "a tar archive");
    CHECK(looks("{\"name\": \"a spec\"}") == "JSON");
    CHECK(looks(R"({"rocprofiler-sdk-tool": [{"metadata": {}}], "displayTimeUnit": "ns"})") ==
          "rocprofv3's own JSON");
    CHECK(looks(R"({"schema": "1.1.0-chakra.0.0.4", "schemaVersion": 1, "nodes": [
                    {"name": "[pytorch|profiler|execution_trace|thread]"}]})") ==
          "a PyTorch execution trace");
    CHECK(looks("").starts_with("this is not a trace: the file is empty"));
  }

  TEST_CASE("an Nsight Systems report says how to export it") {
    for (const char* name : {"a.nsys-rep", "a.qdrep"}) {
      CHECK(RefusalOf(name, std::string("\x01\x02\x03\xfe\xff", 5))
                .find("nsys export --type sqlite") != std::string::npos);
    }
    CHECK(RefusalOf("renamed", std::string("\x01\x02 QuadD.Something \xfe", 20))
              .find("nsys export --type sqlite") != std::string::npos);
  }

  TEST_CASE("the name does not matter if the content is recognized") {
    const test::ScratchDir dir;
    const std::string path = dir / "a.nsys-rep";
    REQUIRE(WriteFileAtomically(path, R"([{"ph":"X","name":"a","ts":1,"dur":1,"pid":1,"tid":1}])")
                .ok());
    const auto run = OpenRun(path);
    REQUIRE(run.ok());
    CHECK(run.value().format == "chrome");
    CHECK(run.value().path == path);
  }

  TEST_CASE("our own traces open, and a missing file is an error") {
    const auto run = OpenRun(test::SourceDir() + "/sample_traces/launch.sst");
    REQUIRE(run.ok());
    CHECK(run.value().format == "sst");
    CHECK_FALSE(run.value().imported());
    const auto missing = OpenRun("/no/such/file");
    REQUIRE_FALSE(missing.ok());
    CHECK(missing.error().kind == ErrorKind::kInput);
  }

  TEST_CASE("a foreign file reports progress and can be canceled") {
    const test::ScratchDir dir;
    const std::string path = dir / "trace.json";
    std::string content = "[";
    for (int i = 0; i < 100'000; ++i) {
      content +=
          R"({"ph":"X","name":"a","ts":)" + std::to_string(i) + R"(,"dur":1,"pid":1,"tid":1},)";
    }
    content.back() = ']';
    REQUIRE(WriteFileAtomically(path, content).ok());
    double last = 0;
    const auto run = OpenRun(path, [&](std::optional<double> part) {
      REQUIRE(part.has_value());
      CHECK(*part >= last);
      last = *part;
      return true;
    });
    REQUIRE(run.ok());
    CHECK(last > 0);
    CHECK_FALSE(OpenRun(path, [](std::optional<double>) { return false; }).ok());
  }
}
