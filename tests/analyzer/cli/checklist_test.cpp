// Techniques of the input pipeline on recorded runs, from the user's side: the planted mistake is
// found, its near miss is not, and the patch is priced and measured.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/program.h"

using stallscope::test::ProgramResult;
using stallscope::test::RunStallscope;
using stallscope::test::ScratchDir;
using Json = nlohmann::json;

namespace {

// A run's spec: a source, the stages after it, batches of four, and an emulated device.
std::string SpecOf(const std::string& stages, int steps) {
  return R"~({"name": "row", "seed": 3, "stages": [)~" + stages +
         R"~(, {"name": "batch", "batch": {"size": 4, "drop_remainder": true}}],
         "trainer": {"device": "emulated", "steps": )~" +
         std::to_string(steps) + R"~(, "emulated": {"compute_us_per_batch": 200}}})~";
}

std::string Stage(const std::string& name, const std::string& kind, const std::string& fields) {
  return R"~({"name": ")~" + name + R"~(", ")~" + kind + R"~(": {)~" + fields + "}}";
}

std::string Synthetic(const std::string& more) {
  return Stage("read", "source", R"~("format": "synthetic", "bytes": 400)~" + more);
}

const std::string kSlowMap = Stage("work", "map", R"~("ops": ["sleep(3000)"])~");

class Row {
 public:
  Row() = default;

  void Generate(const std::string& name, std::vector<std::string> more) {
    more.insert(more.begin(), {"generate", dir_ / name});
    const ProgramResult made = RunStallscope(more);
    REQUIRE_MESSAGE(made.exit_code == 0, made.err);
  }

  Json Report(const std::string& stages, int steps = 40) {
    std::ofstream(dir_ / "spec.json") << SpecOf(stages, steps);
    const ProgramResult made =
        RunStallscope({"record", dir_ / "spec.json", "-o", trace(), "--quiet"});
    REQUIRE_MESSAGE(made.exit_code == 0, made.err);
    const ProgramResult report = RunStallscope({"analyze", trace(), "--format", "json"});
    REQUIRE_MESSAGE(report.exit_code == 0, report.err);
    return Json::parse(report.out);
  }

  // Null where the report has none of this id.
  static Json Finding(const Json& report, const std::string& id) {
    for (const Json& finding : report.at("findings")) {
      if (finding.at("id") == id) return finding;
    }
    return {};
  }

  // The point of a verification for this finding's patch.
  Json Verified(const Json& finding) {
    const ProgramResult run =
        RunStallscope({"replay", trace(), "--verify", "--yes", "-o", dir_ / "v.json"});
    REQUIRE_MESSAGE(run.exit_code == 0, run.err);
    std::ifstream file(dir_ / "v.json");
    const Json sweep = Json::parse(file);
    for (const Json& point : sweep.at("points")) {
      if (point.contains("patch") &&
          point.at("patch") == finding.at("recommendation").at("patch")) {
        return point;
      }
    }
    return {};
  }

  std::string trace() const { return dir_ / "run.sst"; }
  std::string operator/(const std::string& name) const { return dir_ / name; }

 private:
  ScratchDir dir_;
};

Json PatchOf(const Json& finding) { return finding.at("recommendation").at("patch"); }

bool Holds(const Json& value, const std::string& text) {
  return value.dump().find(text) != std::string::npos;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("recorded: record-format, converted by the command that it prints, and measured") {
    Row row;
    row.Generate("csv", {"--format", "csv", "--images", "32", "--size", "160x120"});
    const auto stages = [&](const std::string& source, const std::string& more) {
      return Stage("read", "source", source) + more + "," + Stage("again", "repeat", "");
    };
    const std::string csv = R"~("format": "csv", "files": [")~" + row / "csv/*.csv" + R"~("])~";
    const Json report =
        row.Report(stages(csv, "," + Stage("parse", "map", R"~("ops": ["decode_csv"])~")));
    const Json finding = Row::Finding(report, "record-format");
    REQUIRE_FALSE(finding.is_null());
    const std::string text = finding.at("recommendation").at("text");
    const std::string out = row / "csv-raw";
    CHECK(text.find("stallscope convert") != std::string::npos);
    CHECK(text.find(out) != std::string::npos);
    CHECK_FALSE(finding.at("recommendation").at("code").at("pytorch").get<std::string>().empty());
    const ProgramResult converted =
        RunStallscope({"convert", row / "csv/*.csv", "-o", out, "--format", "raw"});
    REQUIRE_MESSAGE(converted.exit_code == 0, converted.err);
    const Json point = row.Verified(finding);
    REQUIRE_FALSE(point.is_null());
    CHECK(point.at("error").is_null());
    CHECK(point.at("predicted").is_object());
    CHECK(point.at("measured").is_object());
    // The same data in the better format.
    const std::string raw = R"~("format": "raw", "files": [")~" + out + R"~(/*.raw"])~";
    CHECK(Row::Finding(row.Report(stages(raw, "")), "record-format").is_null());
  }

  TEST_CASE("recorded: parallel-reads") {
    Row row;
    const Json finding =
        Row::Finding(row.Report(Synthetic(R"~(, "sleep_us": 3000)~")), "parallel-reads");
    REQUIRE_FALSE(finding.is_null());
    CHECK(finding.at("recommendation").at("gain").at("predicted").is_number());
    const Json point = row.Verified(finding);
    REQUIRE_FALSE(point.is_null());
    CHECK(point.at("predicted").is_object());
    CHECK(point.at("measured").is_object());
    const Json fast = row.Report(Synthetic(""));
    CHECK(Row::Finding(fast, "parallel-reads").is_null());
  }

  TEST_CASE("recorded: block-length") {
    Row row;
    row.Generate("data", {"--images", "64", "--size", "16x16", "--shards", "4"});
    const auto report = [&](const std::string& block) {
      return row.Report(Stage("read", "source",
                              R"~("format": "tfrecord", "files": [")~" + row / "data/*.tfrecord" +
                                  R"~("], "cycle_length": 4, "block_length": )~" + block) +
                            "," + Stage("decode", "map", R"~("ops": ["decode_jpeg"])~"),
                        16);
    };
    const Json finding = Row::Finding(report("8"), "block-length");
    REQUIRE_FALSE(finding.is_null());
    CHECK(Holds(PatchOf(finding), "read.block_length"));
    CHECK(Row::Finding(report("2"), "block-length").is_null());
  }

  TEST_CASE("recorded: slow-rank, of two ranks with unlike devices") {
    ScratchDir dir;
    const auto record = [&](const std::string& name, int us_per_batch) {
      std::ofstream(dir / "spec.json") << R"~({"name": "rank", "stages": [)~" + Synthetic("") +
                                              R"~(, {"name": "batch", "batch": {"size": 4}}],
          "trainer": {"device": "emulated", "steps": 20, "emulated": {"compute_us_per_batch": )~" +
                                              std::to_string(us_per_batch) + "}}}";
      const ProgramResult made =
          RunStallscope({"record", dir / "spec.json", "-o", dir / name, "--quiet"});
      REQUIRE_MESSAGE(made.exit_code == 0, made.err);
    };
    record("fast.sst", 20'000);
    record("alike.sst", 20'000);
    record("slow.sst", 40'000);
    const auto finding = [&](const std::string& other) {
      const ProgramResult report =
          RunStallscope({"analyze", dir / "fast.sst", dir / other, "--format", "json"});
      REQUIRE_MESSAGE(report.exit_code == 0, report.err);
      return Row::Finding(Json::parse(report.out), "slow-rank");
    };
    const Json slow = finding("slow.sst");
    REQUIRE_FALSE(slow.is_null());
    CHECK(Holds(slow.at("text"), "rank 1"));
    CHECK(finding("alike.sst").is_null());
  }

  TEST_CASE("recorded: cache, sized from the data") {
    Row row;
    const std::string read = Synthetic(R"~(, "elements": 32)~");
    const Json report = row.Report(read + "," + kSlowMap + "," + Stage("again", "repeat", ""), 60);
    const Json finding = Row::Finding(report, "cache");
    REQUIRE_FALSE(finding.is_null());
    CHECK(finding.at("recommendation").at("gain").at("predicted").get<double>() > 1.5);
    CHECK(Holds(PatchOf(finding), R"~("max_bytes":1000000)~"));
    const Json point = row.Verified(finding);
    REQUIRE_FALSE(point.is_null());
    CHECK(point.at("error").is_null());
    CHECK(point.at("measured").is_object());
    CHECK(Row::Finding(row.Report(read + "," + kSlowMap, 8), "cache").is_null());
  }

  TEST_CASE("recorded: cache-place, across a repeat") {
    Row row;
    const std::string read = Synthetic(R"~(, "elements": 32)~");
    const std::string cache = Stage("cache", "cache", R"~("max_bytes": 1000000)~");
    const std::string again = Stage("again", "repeat", "");
    const Json finding = Row::Finding(
        row.Report(read + "," + cache + "," + again + "," + kSlowMap, 60), "cache-place");
    REQUIRE_FALSE(finding.is_null());
    CHECK(finding.at("recommendation").at("gain").at("predicted").is_number());
    const Json point = row.Verified(finding);
    REQUIRE_FALSE(point.is_null());
    CHECK(point.at("error").is_null());
    CHECK(point.at("measured").is_object());
    const Json behind = row.Report(read + "," + kSlowMap + "," + cache + "," + again, 60);
    CHECK(Row::Finding(behind, "cache-place").is_null());
  }

  TEST_CASE("recorded: snapshot, filled first, then measured, and both are reported") {
    Row row;
    const std::string read = Synthetic(R"~(, "elements": 160)~");
    const Json finding = Row::Finding(row.Report(read + "," + kSlowMap), "snapshot");
    REQUIRE_FALSE(finding.is_null());
    const Json point = row.Verified(finding);
    REQUIRE_FALSE(point.is_null());
    CHECK(point.at("error").is_null());
    CHECK(point.at("probed") == true);
    CHECK(point.at("predicted").is_object());
    REQUIRE(point.contains("filled"));
    // Writing takes as long as the recorded run, whose map sleeps; reading does not.
    CHECK(point.at("measured").at("samples_per_s").get<double>() >
          2 * point.at("filled").at("samples_per_s").get<double>());
    const ProgramResult again = RunStallscope({"analyze", row.trace(), "--format", "json"});
    const Json measured = Row::Finding(Json::parse(again.out), "snapshot");
    const Json& gain = measured.at("recommendation").at("gain");
    CHECK(gain.at("measured").get<double>() > gain.at("measured_first_run").get<double>());
    CHECK(Row::Finding(row.Report(read), "snapshot").is_null());
  }

  TEST_CASE("recorded: a cache on disk is predicted from a probe that fills and reads it") {
    Row row;
    row.Report(
        Synthetic(R"~(, "elements": 32)~") + "," + kSlowMap + "," + Stage("again", "repeat", ""),
        60);
    std::ofstream(row / "disk.json") << R"~([{"op": "insert", "after": "work",
                "stage": {"name": "kept", "cache": {"where": "disk"}}}])~";
    const ProgramResult run =
        RunStallscope({"replay", row.trace(), "--patch", row / "disk.json", "-o", row / "s.json"});
    REQUIRE_MESSAGE(run.exit_code == 0, run.err);
    std::ifstream file(row / "s.json");
    const Json sweep = Json::parse(file);
    const Json& point = sweep.at("points").at(0);
    CHECK(point.at("probed") == true);
    REQUIRE_MESSAGE(point.at("predicted").is_object(), point.at("unpriced").dump());
    CHECK(point.at("measured").is_object());
  }

  TEST_CASE("recorded: precomputed-augmentation writes several variants") {
    Row row;
    row.Generate("data", {"--images", "24", "--size", "32x32", "--shards", "2"});
    const auto report = [&](const std::string& ops) {
      return row.Report(
          Stage("read", "source",
                R"~("format": "tfrecord", "files": [")~" + row / "data/*.tfrecord" + R"~("])~") +
              "," + Stage("shuffle", "shuffle", R"~("buffer_size": 16)~") + "," +
              Stage("again", "repeat", "") + "," +
              Stage("decode", "map", R"~("ops": ["decode_jpeg"])~") + "," +
              Stage("augment", "map", R"~("ops": [)~" + ops + "]"),
          24);
    };
    const Json finding = Row::Finding(report(R"~("random_resized_crop(16)", "busy(3000)")~"),
                                      "precomputed-augmentation");
    REQUIRE_FALSE(finding.is_null());
    CHECK(Holds(PatchOf(finding), R"~("repeat":{"count":4})~"));
    CHECK_FALSE(finding.at("recommendation").at("code").at("pytorch").get<std::string>().empty());
    const Json point = row.Verified(finding);
    REQUIRE_FALSE(point.is_null());
    CHECK(point.at("error").is_null());
    CHECK(point.contains("filled"));
    CHECK(point.at("measured").is_object());
    CHECK(Row::Finding(report(R"~("resize(16)", "busy(3000)")~"), "precomputed-augmentation")
              .is_null());
  }

  TEST_CASE("recorded: serial-source") {
    Row row;
    const auto source = [](const std::string& format) {
      return Stage("read", "source", R"~("format": ")~" + format + R"~(", "sleep_us": 2000)~");
    };
    const Json finding = Row::Finding(row.Report(source("serial")), "serial-source");
    REQUIRE_FALSE(finding.is_null());
    const Json point = row.Verified(finding);
    REQUIRE_FALSE(point.is_null());
    CHECK(point.at("predicted").is_object());
    CHECK(point.at("measured").is_object());
    CHECK(Row::Finding(row.Report(source("synthetic")), "serial-source").is_null());
  }

  TEST_CASE("recorded: decode-scaled and decode-crop") {
    Row row;
    row.Generate("data", {"--images", "12", "--size", "800x600", "--shards", "2"});
    const auto report = [&](const std::string& ops) {
      return row.Report(
          Stage("read", "source",
                R"~("format": "tfrecord", "files": [")~" + row / "data/*.tfrecord" + R"~("])~") +
              "," + Stage("again", "repeat", "") + "," +
              Stage("decode", "map", R"~("ops": [)~" + ops + "]"),
          12);
    };
    for (const auto& [rule, ops, better] :
         {std::tuple{"decode-scaled", R"~("decode_jpeg", "resize(64)")~",
                     R"~("decode_jpeg(scale=1/8)", "resize(64)")~"},
          std::tuple{"decode-crop", R"~("decode_jpeg", "random_resized_crop(64)")~",
                     R"~("decode_jpeg(crop=true)", "random_resized_crop(64)")~"}}) {
      const std::string id = rule;  // clang 14 captures no structured bindings
      CAPTURE(id);
      const Json finding = Row::Finding(report(ops), id);
      REQUIRE_FALSE(finding.is_null());
      const Json point = row.Verified(finding);
      REQUIRE_FALSE(point.is_null());
      CHECK(point.at("predicted").is_object());
      CHECK(point.at("measured").is_object());
      CHECK(Row::Finding(report(better), id).is_null());
    }
  }
}

TEST_SUITE("measure") {
  TEST_CASE("another format and stores, predicted from a probe and measured") {
    const auto report = [](Row& row, const std::string& id, const std::string& stages) {
      const Json finding = Row::Finding(row.Report(stages, 400), id);
      if (finding.is_null()) {
        std::cout << id << ": not found\n";
        return;
      }
      const Json point = row.Verified(finding);
      if (point.is_null() || !point.at("predicted").is_object() ||
          !point.at("measured").is_object()) {
        std::cout << id << ": " << point.dump() << "\n";
        return;
      }
      const auto of = [&](const char* who, const char* figure) {
        return point.at(who).at(figure).get<double>();
      };
      const double measured = of("measured", "samples_per_s");
      const double low = of("predicted", "low");
      const double high = of("predicted", "high");
      std::cout << fmt::format("{}: {:.0f} samples/s ({:.0f} to {:.0f}), measured {:.0f}{}\n", id,
                               of("predicted", "samples_per_s"), low, high, measured,
                               low <= measured && measured <= high ? "" : "  outside");
    };
    const std::string again = "," + Stage("again", "repeat", "");
    Row formats;
    formats.Generate("csv", {"--format", "csv", "--images", "32", "--size", "160x120"});
    const ProgramResult converted = RunStallscope(
        {"convert", formats / "csv/*.csv", "-o", formats / "csv-raw", "--format", "raw"});
    REQUIRE_MESSAGE(converted.exit_code == 0, converted.err);
    report(formats, "record-format",
           Stage("read", "source",
                 R"~("format": "csv", "files": [")~" + formats / "csv/*.csv" + R"~("])~") +
               "," + Stage("parse", "map", R"~("ops": ["decode_csv"])~") + again);
    Row stores;
    report(stores, "snapshot", Synthetic(R"~(, "elements": 1600)~") + "," + kSlowMap);
    Row images;
    images.Generate("data", {"--images", "64", "--size", "32x32", "--shards", "2"});
    report(
        images, "precomputed-augmentation",
        Stage("read", "source",
              R"~("format": "tfrecord", "files": [")~" + images / "data/*.tfrecord" + R"~("])~") +
            "," + Stage("shuffle", "shuffle", R"~("buffer_size": 16)~") + again + "," +
            Stage("decode", "map", R"~("ops": ["decode_jpeg"])~") + "," +
            Stage("augment", "map", R"~("ops": ["random_resized_crop(16)", "busy(3000)"])~"));
  }
}
