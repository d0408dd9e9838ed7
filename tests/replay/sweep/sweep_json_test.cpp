// The sweep file's text, whole and cut off.
#include "replay/sweep/sweep_json.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/replay/sweep/sweeps.h"

using namespace stallscope;
using replay::ReadSweep;
using replay::WriteSweep;

namespace {

replay::Sweep FullSweep() {
  replay::Sweep sweep = test::PlannedGrid(replay::SweepMode::kBoth);
  sweep.warnings = {"a warning"};
  sweep.job = "77@1";
  sweep.counts_steps = true;
  for (size_t i = 0; i < 3; ++i) {
    replay::Point& point = sweep.points[i];
    const double rate = 100.0 / 3 * static_cast<double>(i + 1);
    point.predicted = replay::Rate{rate * 1.02, rate * 0.9, rate * 1.1};
    point.predicted_memory_bytes = 12'345;
    point.runs = {{{rate, rate * 0.99, rate * 1.01}, 40, 999, "host one"}};
    point.digest = "abc";
    point.verdict = "input-bound: decode (cpu)";
  }
  sweep.points[2].error = "it fell over";
  replay::Point patched;
  patched.name = "patch.json";
  patched.patch = Patch{{SetTo("transfer.pinned", true)}};
  patched.unpriced = "not known";
  patched.probed = true;
  patched.cores = 2;
  sweep.points.push_back(patched);
  return sweep;
}

void CheckSame(const replay::Sweep& a, const replay::Sweep& b) {
  CHECK(a.points == b.points);
  CHECK(a.base == b.base);
  CHECK(a.base_point == b.base_point);
  CHECK(a.axes == b.axes);
  CHECK(a.spec_json == b.spec_json);
  CHECK(a.warnings == b.warnings);
  CHECK(a.job == b.job);
  CHECK(a.recorded_ns == b.recorded_ns);
  CHECK(a.mode == b.mode);
  CHECK(a.counts_steps == b.counts_steps);
  CHECK(a.kind == b.kind);
  CHECK(a.repeats == b.repeats);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a sweep round-trips to the last bit") {
    const replay::Sweep sweep = FullSweep();
    const std::string text = WriteSweep(sweep);
    const auto read = ReadSweep(text, "sweep.json");
    REQUIRE(read.ok());
    CHECK(read.value().whole);
    CheckSame(read.value().sweep, sweep);
    CHECK(WriteSweep(read.value().sweep) == text);
  }

  TEST_CASE("the file has the documented keys") {
    const std::string text = WriteSweep(FullSweep());
    for (const char* word :
         {"\"schema\": \"stallscope.sweep/1\"", "\"set\":{\"decode.parallelism\":1}",
          "\"patch\":[{", "\"measured\":{\"samples_per_s\":", "\"measured\":null",
          "\"memory_bytes\":999", "\"digest\":\"abc\"", "\"verdict\":", "\"error\":null",
          "\"errors\": {\"points\":"}) {
      CHECK_MESSAGE(text.find(word) != std::string::npos, word);
    }
  }

  TEST_CASE("a text cut off anywhere keeps its complete points") {
    const replay::Sweep sweep = FullSweep();
    const std::string text = WriteSweep(sweep);
    const size_t points_begin = text.find("\"points\": [\n");
    size_t most = 0;
    for (size_t size = 0; size < text.size(); ++size) {
      const auto read = ReadSweep(text.substr(0, size), "sweep.json");
      const size_t lines = static_cast<size_t>(
          std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size), '\n'));
      if (size < points_begin) {
        CHECK_FALSE(read.ok());
        CHECK(read.error().kind == ErrorKind::kInput);
        continue;
      }
      if (!read.ok()) {
        CHECK(lines <= 18);
        continue;
      }
      const auto& points = read.value().sweep.points;
      CHECK(points.size() >= most);
      most = points.size();
      for (size_t i = 0; i < points.size(); ++i) CHECK(points[i] == sweep.points[i]);
    }
    CHECK(most == sweep.points.size());
  }

  TEST_CASE("other files are not sweeps") {
    for (const char* text : {"", "{}", "[1]", "{\"schema\": \"stallscope.report/1\"}", "\x7f ELF",
                             "{\"schema\": \"stallscope.sweep/1\"}",
                             "{\"schema\": \"stallscope.sweep/1\", \"trace\": 7}"}) {
      const auto read = ReadSweep(text, "other.json");
      REQUIRE_FALSE(read.ok());
      CHECK(read.error().kind == ErrorKind::kInput);
      CHECK(read.error().where == "other.json");
    }
  }

  TEST_CASE("a changed byte is read or refused, nothing worse") {
    const std::string text = WriteSweep(FullSweep());
    for (size_t i = 0; i < text.size(); ++i) {
      for (const char byte : {'\0', '"', '}', '9', '\xff'}) {
        std::string changed = text;
        changed[i] = byte;
        const auto read = ReadSweep(changed, "sweep.json");
        if (read.ok()) {
          CHECK(read.value().sweep.points.size() <= 4);
        } else {
          CHECK(read.error().kind == ErrorKind::kInput);
        }
      }
    }
  }
}
