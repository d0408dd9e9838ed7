// Bad data, missing files, and pipelines that are given up.
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <thread>

#include "analyzer/base/file.h"
#include "analyzer/spec/spec_json.h"
#include "collectors/data/tfrecord.h"
#include "tests/collectors/pipeline/pipeline_runs.h"
#include "tests/support/paths.h"

using namespace stallscope;
using test::Delivered;
using test::MakeData;
using test::RunStages;
using test::ScratchDir;

namespace {

std::string Stages(const std::string& format, const std::string& glob, const std::string& more,
                   const std::string& op = "decode_jpeg") {
  return R"({"name": "read", "source": {"format": ")" + format + R"(", "files": [")" + glob +
         "\"]" + more + R"(}}, {"name": "decode", "map": {"ops": [")" + op +
         R"~(", "resize(8)"], "parallelism": 2}}, {"name": "batch", "batch": {"size": 4}})~";
}

std::string Line(const Delivered& run) { return run.error.has_value() ? run.error->Line() : ""; }
bool Says(const Delivered& run, const std::string& text) {
  return Line(run).find(text) != std::string::npos;
}

// Flips a bit in the middle of the second record.
void Damage(const std::string& path) {
  std::string content = ReadWholeFile(path, 1 << 24).value();
  uint64_t first = 0;
  std::memcpy(&first, content.data(), sizeof first);
  content[first + 16 + 12 + 40] ^= 4;
  REQUIRE(WriteFileAtomically(path, content).ok());
}

std::string WriteGarbageImages(const std::string& path, int good_every) {
  auto writer = data::TfRecordWriter::Create(path);
  for (int i = 0; i < 6; ++i) {
    REQUIRE(writer.value().Write(data::AsBytes("no image " + std::to_string(i))).ok());
  }
  REQUIRE(writer.value().Finish().ok());
  return std::to_string(good_every);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a damaged record ends the run and names file, offset and record, or is left out") {
    ScratchDir dir;
    const std::string glob = MakeData(dir / "d", data::DataFormat::kTfRecord, 24, 1);
    for (const auto& entry : std::filesystem::directory_iterator(dir / "d")) {
      if (entry.path().filename() != "manifest.json") Damage(entry.path());
    }
    const Delivered failed = RunStages(Stages("tfrecord", glob, ""));
    REQUIRE(failed.error.has_value());
    CHECK(failed.error->kind == ErrorKind::kRun);
    CHECK(Says(failed, "record 1"));
    CHECK(Says(failed, "offset "));
    CHECK(Says(failed, dir / "d"));
    const Delivered skipped =
        RunStages(Stages("tfrecord", glob, R"(, "on_error": "skip", "parallelism": 2)"));
    CHECK(!skipped.error.has_value());
    CHECK(skipped.ids.size() == 23);
    CHECK(skipped.stats.skipped == 1);
    CHECK(skipped.stats.first_skipped.find("record 1") != std::string::npos);
  }

  TEST_CASE(
      "an image that cannot be decoded names its record, and skip leaves it out and counts it") {
    ScratchDir dir;
    WriteGarbageImages(dir / "f", 0);
    const Delivered failed = RunStages(Stages("tfrecord", dir / "f", ""));
    CHECK(Says(failed, "/f, offset 0, record 0"));
    const Delivered skipped = RunStages(Stages("tfrecord", dir / "f", R"(, "on_error": "skip")"));
    CHECK(!skipped.error.has_value());
    CHECK(skipped.ids.empty());
    CHECK(skipped.stats.skipped == 6);
    // Later calls give the error again.
    const auto spec = ReadSpec("{\"stages\": [" + Stages("tfrecord", dir / "f", "") + "]}", "t");
    auto built = pipeline::Pipeline::Build(spec.value(), {});
    REQUIRE(built.ok());
    const auto first = built.value()->Next();
    const auto second = built.value()->Next();
    REQUIRE_FALSE(first.ok());
    REQUIRE_FALSE(second.ok());
    CHECK(first.error().Line() == second.error().Line());
  }

  TEST_CASE("files that are missing, empty, cut off or of another kind are run errors") {
    ScratchDir dir;
    const auto kind = [](const Delivered& run) {
      return run.error.has_value() ? static_cast<int>(run.error->kind) : 0;
    };
    CHECK(kind(RunStages(Stages("tfrecord", dir / "nothing*", ""))) == 5);
    std::filesystem::create_directory(dir / "empty");
    CHECK(kind(RunStages(Stages("images", dir / "empty", ""))) == 5);
    CHECK(kind(RunStages(Stages("tfrecord", dir / "empty", ""))) == 5);
    const std::string glob = MakeData(dir / "d", data::DataFormat::kTfRecord, 8, 1);
    CHECK(kind(RunStages(Stages("csv", glob, "", "decode_csv"))) == 5);
    CHECK(kind(RunStages(Stages("hdf5", glob, "", "busy(1)"))) == 5);
    for (const auto& entry : std::filesystem::directory_iterator(dir / "d")) {
      if (entry.path().filename() == "manifest.json") continue;
      std::filesystem::resize_file(entry.path(), entry.file_size() - 5);
    }
    const Delivered cut = RunStages(Stages("tfrecord", glob, ""));
    CHECK(kind(cut) == 5);
    CHECK(Says(cut, "offset"));
    CHECK(cut.ids.size() == 4);  // the whole batch before it is not lost
    const Delivered skipped = RunStages(Stages("tfrecord", glob, R"(, "on_error": "skip")"));
    CHECK(!skipped.error.has_value());
    CHECK(skipped.ids.size() == 7);
    CHECK(skipped.stats.skipped == 1);
    REQUIRE(WriteFileAtomically(dir / "rows.csv", "label,a,b,c\n1,2,3,4\n1,2\n0,4,5,6\n").ok());
    CHECK(Says(RunStages(Stages("csv", dir / "rows.csv", "", "decode_csv")), "line 3"));
  }

  TEST_CASE("a shape that changes is an error that names both, or is left out") {
    const std::string stages =
        R"({"name": "read", "source": {"format": "images", "files": ["%D"]%S}},
           {"name": "decode", "map": {"ops": ["decode_jpeg"]}}, {"name": "batch", "batch": {"size": 3}})";
    ScratchDir dir;
    MakeData(dir / "a", data::DataFormat::kImages, 3, 1, 32, 24);
    MakeData(dir / "b", data::DataFormat::kImages, 3, 1, 40, 24);
    std::string text = stages;
    text.replace(text.find("%D"), 2, (dir / "a") + "\", \"" + (dir / "b"));
    std::string failing = text;
    failing.replace(failing.find("%S"), 2, "");
    failing.replace(failing.find("\"size\": 3"), 9, "\"size\": 6");
    CHECK(Says(RunStages(failing),
               "a sample of 24x40x3 uint8 does not fit into a batch of 24x32x3 uint8"));
    std::string skipping = text;
    skipping.replace(skipping.find("%S"), 2, R"(, "on_error": "skip")");
    skipping.replace(skipping.find("\"size\": 3"), 9, "\"size\": 6");
    const Delivered skipped = RunStages(skipping);
    CHECK(!skipped.error.has_value());
    CHECK(skipped.ids.size() == 3);
    CHECK(skipped.stats.skipped == 3);
  }

  TEST_CASE("an op that cannot process its input is an error that says what it needs") {
    const auto run = [](const std::string& ops) {
      return RunStages(
          R"({"name": "read", "source": {"format": "synthetic", "elements": 4, "bytes": 12}}, {"name": "m", "map": {"ops": [)" +
          ops + "]}}");
    };
    CHECK(Says(run(R"("decode_jpeg")"), "decode_jpeg needs"));
    CHECK(Says(run(R"("flip")"), "flip needs an image"));
    CHECK(Says(run(R"~("one_hot(2)", "busy(1)")~"), "label 2 is out of range (2 classes)"));
    CHECK(Says(run(R"("normalize")"), "is not an image"));
    const Delivered behind = RunStages(
        R"({"name": "read", "source": {"format": "synthetic"}},
           {"name": "m", "map": {"ops": ["flip"], "on": "device"}}, {"name": "s", "shuffle": {"buffer_size": 2}})");
    CHECK(Says(behind, "'s' runs on the host and cannot follow 'm' on the device"));
    CHECK(behind.error->kind == ErrorKind::kUsage);
  }

  TEST_CASE("canceling ends a pipeline that waits, wherever it waits") {
    for (
        const char* stages :
        {R"({"name": "read", "source": {"format": "serial", "sleep_us": 50000000}})",
         R"~({"name": "read", "source": {"format": "synthetic"}}, {"name": "m", "map": {"ops": ["sleep(50000000)"], "parallelism": 3}})~",
         R"~({"name": "read", "source": {"format": "synthetic"}}, {"name": "m", "map": {"ops": ["busy(50000000)"]}}, {"name": "p", "prefetch": {"buffer_size": 2}})~",
         R"({"name": "read", "source": {"format": "synthetic", "parallelism": 2, "sleep_us": 50000000}}, {"name": "b", "batch": {"size": 8, "parallelism": 2}}, {"name": "p", "prefetch": {"buffer_size": "auto"}})"}) {
      CAPTURE(stages);
      const auto spec = ReadSpec("{\"stages\": [" + std::string(stages) + "]}", "test");
      REQUIRE(spec.ok());
      auto built = pipeline::Pipeline::Build(spec.value(), {});
      REQUIRE(built.ok());
      std::thread canceller([&] { built.value()->Cancel(); });
      const auto next = built.value()->Next();
      canceller.join();
      CHECK_FALSE(next.ok());
      CHECK_FALSE(built.value()->Next().ok());
    }
  }
}

namespace {

// A pipeline of stages drawn by chance, begun, pulled from a little, and given up.
void StartAndGiveUp(std::mt19937& random) {
  const auto draw = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
  std::string stages = R"({"name": "read", "source": {"format": "synthetic", "elements": )" +
                       std::to_string(1 + draw(60)) + R"(, "bytes": 64, "parallelism": )" +
                       std::to_string(1 + draw(3)) + "}}";
  bool batched = false;
  for (unsigned i = 0, count = draw(5); i < count; ++i) {
    const std::string name = "{\"name\": \"s" + std::to_string(i) + "\", ";
    const std::string n = std::to_string(1 + draw(4));
    std::string stage;
    switch (draw(8)) {
      case 0:
        stage = R"("shuffle": {"buffer_size": )" + n + "}}";
        break;
      case 1:
        stage = R"("prefetch": {"buffer_size": )" + (draw(2) ? n : "\"auto\"") + "}}";
        break;
      case 2:
        stage = R"("repeat": {"count": )" + n + "}}";
        break;
      case 3:
        stage = R"("cache": {}})";
        break;
      case 4:
        stage = "\"filter\": {\"op\": \"keep_one_in(" + n + ")\"}}";
        break;
      case 5:
        if (batched) continue;
        batched = true;
        stage = R"("batch": {"size": )" + n + R"(, "parallelism": )" + n + "}}";
        break;
      default:
        stage = R"~("map": {"ops": ["busy(2)"], "parallelism": )~" + (draw(3) ? n : "\"auto\"") +
                R"(, "deterministic": )" + (draw(2) ? "true" : "false") + "}}";
    }
    stages += ", " + name + stage;
  }
  CAPTURE(stages);
  const auto spec = ReadSpec("{\"stages\": [" + stages + "]}", "test");
  REQUIRE(spec.ok());
  auto built = pipeline::Pipeline::Build(spec.value(), {});
  REQUIRE(built.ok());
  std::thread canceller;
  if (draw(2) == 0) canceller = std::thread([&] { built.value()->Cancel(); });
  for (unsigned i = 0, count = draw(40); i < count; ++i) {
    auto next = built.value()->Next();
    if (!next.ok() || !next.value().has_value()) break;
    built.value()->Recycle(std::move(*next.value()));
  }
  if (canceller.joinable()) canceller.join();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("sixty pipelines of random stages, started and abandoned") {
    std::mt19937 random(7);
    for (int i = 0; i < 60; ++i) StartAndGiveUp(random);
  }
}

TEST_SUITE("slow") {
  TEST_CASE("a thousand pipelines of random stages, started and abandoned") {
    std::mt19937 random(11);
    for (int i = 0; i < 1000; ++i) StartAndGiveUp(random);
  }
}
