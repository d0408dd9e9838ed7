// Real files against figures that an independent program computed from them.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/analyzer/importers/xplane/read.h"
#include "tests/support/skip.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

using Intervals = std::vector<std::pair<int64_t, int64_t>>;

int64_t Union(Intervals intervals) {
  std::sort(intervals.begin(), intervals.end());
  int64_t sum = 0;
  int64_t until = INT64_MIN;
  for (const auto& [start, end] : intervals) {
    if (end <= until) continue;
    sum += end - std::max(start, until);
    until = end;
  }
  return sum;
}

struct Seen {
  std::map<uint32_t, Intervals> busy;                                               // by device
  std::map<uint32_t, std::map<std::string, std::pair<uint64_t, uint64_t>>> copies;  // count, bytes
  std::map<std::string, std::pair<uint64_t, int64_t>> named;  // of host events: count, ns
};

Seen Look(const model::Run& run) {
  Seen seen;
  const auto device = [&](TrackId track) { return run.tracks[track.value].info.device; };
  for (const auto& kernel : run.rows.kernels) {
    seen.busy[device(kernel.track)].emplace_back(kernel.start_ns, kernel.end_ns);
  }
  for (const auto& copy : run.rows.copies) {
    seen.busy[device(copy.track)].emplace_back(copy.start_ns, copy.end_ns);
    constexpr const char* kNames[] = {"MemcpyH2D", "MemcpyD2H", "MemcpyD2D"};
    auto& sum = seen.copies[device(copy.track)][kNames[static_cast<size_t>(copy.direction)]];
    ++sum.first;
    sum.second += copy.bytes;
  }
  for (const auto& track : run.tracks) {
    for (size_t i = 0; i < track.spans.size(); ++i) {
      if (track.info.kind == trace::TrackKind::kStream) {
        seen.busy[track.info.device].emplace_back(track.spans.start_ns[i], track.spans.EndNs(i));
      }
      if (track.info.kind != trace::TrackKind::kDetail) continue;
      auto& sum = seen.named[std::string(run.Text(run.ClassOf(track, i).name))];
      ++sum.first;
      sum.second += track.spans.DurationNs(i);
    }
  }
  return seen;
}

void CheckAgainst(const json& facts, const model::Run& run) {
  const Seen seen = Look(run);
  size_t host_events = 0;
  size_t host_spans = 0;
  for (const auto& track : run.tracks) {
    if (track.info.kind == trace::TrackKind::kDetail) host_spans += track.spans.size();
  }
  for (const json& plane : facts["planes"]) {
    const std::string name = plane["name"];
    INFO(std::string(name));
    if (name.rfind("/device:GPU:", 0) != 0) {
      host_events += plane["n_events"].get<size_t>();
      continue;
    }
    const auto device = static_cast<uint32_t>(std::stoul(name.substr(12)));
    if (!plane.contains("device_busy_base_lines_ps")) continue;
    const auto busy = seen.busy.find(device);
    REQUIRE(busy != seen.busy.end());
    CHECK(Union(busy->second) * 1'000 == plane["device_busy_base_lines_ps"].get<int64_t>());
    for (const auto& [kind, copies] : plane["memcpy"].items()) {
      const std::string& copied = kind;
      CAPTURE(copied);
      const auto& sum = seen.copies.at(device).at(kind);
      CHECK(sum.first == copies["count"].get<uint64_t>());
      CHECK(sum.second == copies["bytes"].get<uint64_t>());
    }
    if (!plane.contains("step_lines")) continue;
    for (const json& line : plane["step_lines"]) {
      for (const json& step : line) {
        const int64_t start = step[1].get<int64_t>() / 1'000;
        CHECK(std::any_of(run.rows.steps.begin(), run.rows.steps.end(),
                          [&](const trace::Step& s) { return s.requested_ns == start; }));
      }
    }
  }
  CHECK(host_spans == host_events);
  for (const auto& [name, iterator] : facts["iterators"].items()) {
    const std::string& called = name;
    CAPTURE(called);
    const auto& sum = seen.named.at(called);
    CHECK(sum.first == iterator["count"].get<uint64_t>());
    CHECK(sum.second * 1'000 == iterator["total_ps"].get<int64_t>());
  }
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("real files match the facts") {
    const auto corpus = test::CorpusDir();
    if (!corpus.has_value()) return test::Skip("STALLSCOPE_CORPUS is not set");
    for (const char* file :
         {"AMD-AGI__jax_te_fused_attn.xplane.pb", "AMD-AGI__mi300_jax08_gemm.xplane.pb",
          "tensorflow__GPU-multi-worker_34.83.195.179_6003.xplane.pb"}) {
      CAPTURE(file);
      const auto run = test::ReadXPlaneFile(*corpus + "/xplane/" + file);
      REQUIRE(run.ok());
      const auto facts = ReadWholeFile(*corpus + "/facts/" + file + ".json", 1 << 24);
      REQUIRE(facts.ok());
      CheckAgainst(json::parse(facts.value()), run.value());
      CHECK(run.value().quality.warnings.empty());
    }
  }
}
