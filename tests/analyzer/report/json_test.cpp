#include "analyzer/report/json.h"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/analyzer/report/golden.h"
#include "tests/analyzer/report/sample_reports.h"

using namespace stallscope;
using nlohmann::json;
using report::WriteJson;

namespace {

// The contract as the report must have it; null stands for "anything".
constexpr const char* kContract = R"json(
{ "schema": "stallscope.report/1",
  "run": {"name": "...", "trace": "run.sst", "format": "sst", "digest": null, "host": {},
    "device": {"kind": "emulated", "name": "..."}, "spec": {}},
  "trust": {"complete": true, "spans": 0, "dropped": 0, "damaged_bytes": 0, "warnings": [],
    "limits": ["what this format cannot show"]},
  "window": {"start_ns": 0, "end_ns": 0, "steps": 0, "warmup_steps_excluded": 0},
  "throughput": {"samples_per_s": 0.0, "low": 0.0, "high": 0.0},
  "step_time_ms": {"mean": 0.0, "p50": 0.0, "p95": 0.0, "p99": 0.0},
  "breakdown": {"compute": {"ns": 0, "fraction": 0.0, "low": 0.0, "high": 0.0}, "transfer": {},
    "communication": {}, "launch": {}, "input_stall": {}, "sync": {}, "other": {}},
  "stall_blame": [{"stage": "decode", "cause": "cpu", "ns": 0, "fraction": 0.0}],
  "stages": [{"name": "decode", "kind": "map", "parallelism": 2, "elements": 0, "service_ms":
    {"mean": 0, "p50": 0, "p95": 0}, "utilization": 0.0, "capacity_samples_per_s": 0.0, "starved":
    0.0, "blocked": 0.0, "cpu_s": 0.0, "bytes": 0, "queue": {"capacity": 0, "mean": 0.0, "empty":
    0.0, "full": 0.0}}],
  "devices": [{"id": 0, "name": "...", "busy_ns": 0, "kernels": 0, "kernel_ns": 0, "copies":
    [{"direction": "h2d", "memory": "pinned", "count": 0, "bytes": 0, "ns": 0}]}],
  "kernels": [{"name": "...", "count": 0, "ns": 0, "fraction": 0.0}],
  "memory": {"peak_rss_bytes": 0, "device_peak_bytes": null, "stages": [{"name": "cache", "bytes":
    0}], "limit_bytes": 0},
  "verdict": {"bound": "input", "stage": "decode", "cause": "cpu", "confidence": 0.0, "text":
    "..."},
  "findings": [{"id": "map-parallelism", "severity": "high", "stage": "decode", "share": 0.0,
    "text": "...", "evidence": [], "recommendation": {"text": "...", "patch": [], "gain":
    {"predicted": 1.8, "low": 1.6, "high": 1.9, "measured": null}, "memory_bytes": 0, "code":
    {"tf.data": "...", "pytorch": "...", "dali": "...", "grain": "..."}}}] }
)json";

// `got` has every key of `wanted`, with values of the same kind.
void CheckShape(const json& wanted, const json& got, const std::string& path) {
  CAPTURE(path);
  if (wanted.is_null()) return;
  if (wanted.is_number()) {
    CHECK(got.is_number());
    return;
  }
  REQUIRE(std::string(wanted.type_name()) == got.type_name());
  if (wanted.is_object()) {
    for (auto field = wanted.begin(); field != wanted.end(); ++field) {
      const std::string below = path + "." + field.key();
      REQUIRE_MESSAGE(got.contains(field.key()), below);
      CheckShape(field.value(), got[field.key()], below);
    }
  } else if (wanted.is_array() && !wanted.empty()) {
    REQUIRE_FALSE(got.empty());
    CheckShape(wanted[0], got[0], path + "[0]");
  }
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a finding of a job has its line and its diff") {
    const json got = json::parse(WriteJson(test::JobReport(2)))["findings"][0];
    CHECK(got["where"] == json{{"file", "/home/u/train.py"}, {"line", 41}});
    CHECK(got["diff"].get<std::string>().starts_with("--- a/train.py\n+++ b/train.py\n@@ -40,3"));
    CHECK(got["by_hand"].size() == 1);
    const json other = json::parse(WriteJson(test::InputBoundReport()))["findings"][0];
    CHECK(other["where"].is_null());
    CHECK(other["diff"].is_null());
    CHECK(other["by_hand"].empty());
  }

  TEST_CASE("a report has every field of the schema") {
    const json got = json::parse(WriteJson(test::InputBoundReport()));
    CheckShape(json::parse(kContract), got, "");
    CHECK(got["schema"] == "stallscope.report/1");
    CHECK(got["run"]["spec"]["stages"][0]["name"] == "read");
    CHECK(got["verdict"]["text"] == "input-bound: decode (cpu)");
    CHECK(got["devices"][0]["copies"][0]["direction"] == "h2d");
    CHECK(got["devices"][0]["copies"][0]["memory"] == "pinned");
    const json& advice = got["findings"][0]["recommendation"];
    CHECK(advice["patch"] ==
          json::parse(R"([{"op":"set","path":"decode.parallelism","value":4}])"));
    CHECK(advice["gain"]["measured"] == 1.55);
    CHECK(advice["code"]["dali"] == "pipe = pipeline(batch_size=16, num_threads=4, device_id=0)");
    CHECK(got["findings"][2]["recommendation"]["gain"].is_null());
    CHECK(got["idle"]["input_ns"] == 4'700'000'000);
    CHECK(got["cpu"]["process_busy"] == 1.42);
    CHECK(got["stragglers"].size() == 1);
  }

  TEST_CASE("the categories add up to the window, the blame to the stall") {
    const json got = json::parse(WriteJson(test::InputBoundReport()));
    int64_t sum = 0;
    for (const json& category : got["breakdown"]) sum += category["ns"].get<int64_t>();
    CHECK(sum == got["window"]["end_ns"].get<int64_t>() - got["window"]["start_ns"].get<int64_t>());
    int64_t blame = 0;
    for (const json& row : got["stall_blame"]) blame += row["ns"].get<int64_t>();
    CHECK(blame == got["breakdown"]["input_stall"]["ns"]);
  }

  TEST_CASE("what the trace cannot show is null, and named") {
    const json got = json::parse(WriteJson(test::InconclusiveReport()));
    CHECK(got["run"]["digest"].is_null());
    CHECK(got["run"]["spec"].is_null());
    CHECK(got["throughput"].is_null());
    CHECK(got["breakdown"]["communication"].is_null());
    CHECK(got["stages"][0]["utilization"].is_null());
    CHECK(got["verdict"]["stage"].is_null());
    CHECK(got["memory"]["peak_rss_bytes"].is_null());
    const std::string limits = got["trust"]["limits"].dump();
    for (const char* name :
         {"throughput", "step_time_ms", "communication:", "breakdown.transfer",
          "stages[].utilization: not in this trace for Iterator::Map", "stages[].queue.mean",
          "memory.peak_rss_bytes", "memory.limit_bytes", "cpu.process_busy"}) {
      CHECK_MESSAGE(limits.find(name) != std::string::npos, name);
    }
    // Named once: a limit that was there already names it.
    CHECK(limits.find("breakdown.communication") == std::string::npos);
    auto again = test::InconclusiveReport();
    report::NameMissingFigures(again);
    CHECK(WriteJson(again) == WriteJson(test::InconclusiveReport()));
  }

  TEST_CASE("doubles read back the same, NaN and infinities are null") {
    report::Report report = test::InputBoundReport();
    report.throughput =
        attribution::Throughput{0.1 + 0.2, std::nan(""), std::numeric_limits<double>::infinity()};
    const json got = json::parse(WriteJson(report));
    CHECK(got["throughput"]["samples_per_s"].get<double>() == 0.1 + 0.2);
    CHECK(got["throughput"]["low"].is_null());
    CHECK(got["throughput"]["high"].is_null());
  }

  TEST_CASE("equal reports give equal bytes, any name gives JSON") {
    CHECK(WriteJson(test::InputBoundReport()) == WriteJson(test::InputBoundReport()));
    for (const std::string& name : test::NastyTexts()) {
      CHECK_FALSE(json::parse(WriteJson(test::ReportNamed(name)), nullptr, false).is_discarded());
    }
    report::Report deep = test::BalancedReport();
    deep.spec_json = "{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
    CHECK(json::parse(WriteJson(deep))["run"]["spec"].is_null());
    deep.spec_json = "[1]";
    CHECK(json::parse(WriteJson(deep))["run"]["spec"].is_null());
  }

  TEST_CASE("a comparison as JSON") {
    const json got = json::parse(WriteJson(test::SlowerComparison()));
    CHECK(got["schema"] == "stallscope.comparison/1");
    CHECK(got["answer"] == "slower");
    CHECK(got["throughput"]["ratio"] == 0.882);
    CHECK(got["step_time_ms"]["p99"]["low"].is_null());
    CHECK(got["ms_per_step"]["communication"]["ratio"].is_null());
    CHECK(got["ms_per_step"]["sync"].is_null());
    CHECK(got["spec_change"][0]["path"] == "decode.deterministic");
    report::Report report = test::InputBoundReport();
    report.against_base = test::SlowerComparison();
    CHECK(json::parse(WriteJson(report))["comparison"] == got);
  }

  TEST_CASE("golden json") {
    test::MatchesGolden("input_bound.json", WriteJson(test::InputBoundReport()));
    test::MatchesGolden("inconclusive.json", WriteJson(test::InconclusiveReport()));
  }
}
