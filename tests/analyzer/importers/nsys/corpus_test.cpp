// Real exports against figures that an independent program computed from them.
#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "analyzer/attribution/attribution.h"
#include "analyzer/base/file.h"
#include "tests/analyzer/importers/nsys/made_database.h"
#include "tests/support/skip.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

std::string Label(trace::CopyDirection direction) {
  constexpr const char* kNames[] = {"Host-to-Device", "Device-to-Host", "Device-to-Device"};
  return kNames[static_cast<size_t>(direction)];
}

void CheckAgainst(const json& facts, const model::Run& run) {
  const attribution::Attribution a = attribution::Attribute(run);
  std::map<std::string, attribution::CopyUse> copies;
  for (const attribution::DeviceUse& device : a.devices) {
    const std::string id = std::to_string(device.device);
    CAPTURE(id);
    CHECK(device.kernels == facts["kernels"][id]["count"].get<uint64_t>());
    CHECK(device.kernel_ns == facts["kernels"][id]["busy_union_ns"].get<int64_t>());
    CHECK(device.busy_ns == facts["gpu_busy_union_ns"][id].get<int64_t>());
    for (const attribution::CopyUse& use : device.copies) {
      attribution::CopyUse& sum = copies[Label(use.direction)];
      sum.memory = use.memory;
      sum.count += use.count;
      sum.bytes += use.bytes;
      sum.ns += use.ns;
    }
  }
  CHECK(a.devices.size() == facts["kernels"].size());
  for (const json& fact : facts["memcpy"]) {
    const std::string label = fact["label"];
    CAPTURE(label);
    const attribution::CopyUse& sum = copies[label];
    CHECK(sum.count == fact["count"].get<uint64_t>());
    CHECK(sum.bytes == fact["bytes"].get<uint64_t>());
    CHECK(sum.ns == fact["dur_ns"].get<int64_t>());
    const std::string host = label == "Host-to-Device" ? fact["srcKind"] : fact["dstKind"];
    if (host == "Pageable") CHECK(sum.memory == trace::CopyMemory::kPageable);
    if (host == "Pinned") CHECK(sum.memory == trace::CopyMemory::kPinned);
  }
  size_t ranges = 0;
  size_t calls = 0;
  for (const model::Track& track : run.tracks) {
    if (track.info.kind != trace::TrackKind::kDetail) continue;
    for (size_t i = 0; i < track.spans.size(); ++i) {
      const bool call = run.ClassOf(track, i).activity == trace::SpanActivity::kRuntime;
      ++(call ? calls : ranges);
    }
  }
  const json& rows = facts["tables"];
  CHECK(calls == rows["CUPTI_ACTIVITY_KIND_RUNTIME"].get<size_t>());
  if (rows.contains("NVTX_EVENTS")) CHECK(ranges <= rows["NVTX_EVENTS"].get<size_t>());
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("real exports match the facts") {
    const auto corpus = test::CorpusDir();
    if (!corpus.has_value()) return test::Skip("STALLSCOPE_CORPUS is not set");
    for (const char* file : {"GindaChen__mock.sqlite", "GindaChen__mfu_2gpu_before.sqlite"}) {
      CAPTURE(file);
      const auto run = test::ReadNsysFile(*corpus + "/nsys/" + file);
      REQUIRE(run.ok());
      const auto facts = ReadWholeFile(*corpus + "/facts/" + file + ".json", 1 << 24);
      REQUIRE(facts.ok());
      CheckAgainst(json::parse(facts.value()), run.value());
      CHECK(run.value().quality.warnings.empty());
    }
  }
}
