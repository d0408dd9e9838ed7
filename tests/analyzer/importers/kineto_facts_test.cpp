// Our figures of PyTorch's real traces against those of an independent program, to the nanosecond.
#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/attribution/device_use.h"
#include "analyzer/attribution/partition.h"
#include "analyzer/export/kineto_partition.h"
#include "analyzer/importers/open_run.h"
#include "analyzer/model/ranks.h"
#include "tests/analyzer/importers/facts.h"
#include "tests/support/paths.h"
#include "tests/support/skip.h"

using namespace stallscope;
using test::Facts;
using Intervals = std::vector<std::pair<int64_t, int64_t>>;

namespace {

model::Run Open(const std::string& path) {
  auto run = importers::OpenRun(path);
  REQUIRE_MESSAGE(run.ok(), run.error().Line());
  return std::move(run).value();
}

// check(run, facts) for each real trace of a folder.
template <class Check>
void ForEachTrace(const char* folder, Check&& check) {
  const auto traces = test::RealTraces(folder);
  if (!traces) return test::Skip("STALLSCOPE_CORPUS is not set");
  for (const test::RealTrace& real : *traces) {
    CAPTURE(real.path);
    check(Open(real.path), real.facts);
  }
}

// The host's spans of an activity whose name begins so.
Intervals SpansNamed(const model::Run& run, trace::SpanActivity activity, std::string_view name) {
  Intervals spans;
  for (const model::Track& track : run.tracks) {
    if (track.info.kind != trace::TrackKind::kDetail) continue;
    for (size_t i = 0; i < track.spans.size(); ++i) {
      const trace::SpanClass& what = run.ClassOf(track, i);
      if (what.activity != activity || !run.Text(what.name).starts_with(name)) continue;
      spans.emplace_back(track.spans.start_ns[i], track.spans.EndNs(i));
    }
  }
  return spans;
}

std::pair<trace::CopyDirection, trace::CopyMemory> KindOf(const std::string& name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  const auto direction = has("HtoD")   ? trace::CopyDirection::kHostToDevice
                         : has("DtoH") ? trace::CopyDirection::kDeviceToHost
                                       : trace::CopyDirection::kDeviceToDevice;
  const auto memory = has("Pinned")     ? trace::CopyMemory::kPinned
                      : has("Pageable") ? trace::CopyMemory::kPageable
                                        : trace::CopyMemory::kUnknown;
  return {direction, memory};
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("real PyTorch traces: devices are as busy as the facts say") {
    ForEachTrace("kineto", [](const model::Run& run, const Facts& facts) {
      CHECK(run.format == "kineto");
      std::map<std::string, int64_t> busy;
      int64_t kernels = 0;
      for (const attribution::DeviceUse& device : attribution::UseOfDevices(run)) {
        if (device.busy_ns != 0) busy[std::to_string(device.device)] = device.busy_ns;
        kernels += device.kernel_ns;
      }
      CHECK(busy == facts["gpu_busy_by_device_ns"].get<std::map<std::string, int64_t>>());
      CHECK(kernels == facts["kernel_busy_union_ns"].get<int64_t>());
      const auto& by_category = facts["x_by_cat"];
      const uint64_t expected =
          by_category.value("kernel", uint64_t{0}) + by_category.value("Kernel", uint64_t{0});
      CHECK(run.rows.kernels.size() == expected);
    });
  }

  TEST_CASE("real PyTorch traces: copies have the facts' kinds, bytes and times") {
    struct Sum {
      uint64_t count = 0;
      uint64_t bytes = 0;
      int64_t ns = 0;
      bool operator==(const Sum&) const = default;
    };
    using Kinds = std::map<std::pair<trace::CopyDirection, trace::CopyMemory>, Sum>;
    ForEachTrace("kineto", [](const model::Run& run, const Facts& facts) {
      Kinds expected;
      for (const auto& [name, copies] : facts["memcpy"].items()) {
        Sum& sum = expected[KindOf(name)];
        sum.count += copies["count"].get<uint64_t>();
        sum.bytes += copies["bytes"].get<uint64_t>();
        sum.ns += copies["dur_sum_ns"].get<int64_t>();
      }
      Kinds seen;
      for (const trace::Copy& copy : run.rows.copies) {
        Sum& sum = seen[{copy.direction, copy.memory}];
        ++sum.count;
        sum.bytes += copy.bytes;
        sum.ns += copy.end_ns - copy.start_ns;
      }
      CHECK(seen == expected);
    });
  }

  TEST_CASE("real PyTorch traces: steps and loaders last as long as the facts say") {
    ForEachTrace("kineto", [](const model::Run& run, const Facts& facts) {
      Intervals expected;
      for (const auto& step : facts["profilersteps"]) {
        const auto start = step["start_ns"].get<int64_t>();
        expected.emplace_back(start, start + step["dur_ns"].get<int64_t>());
      }
      CHECK(SpansNamed(run, trace::SpanActivity::kAnnotation, "ProfilerStep#") == expected);
      if (!expected.empty()) {
        REQUIRE(run.rows.steps.size() == expected.size());
        for (size_t i = 0; i < expected.size(); ++i) {
          const std::string name = "ProfilerStep#" + std::to_string(run.rows.steps[i].index);
          CHECK(name == facts["profilersteps"][i]["name"].get<std::string>());
          CHECK(run.rows.steps[i].requested_ns == expected[i].first);
        }
        CHECK(model::StepIntervals(run).back().end_ns >= expected.back().second);
      }
      CHECK(test::UnionNs(SpansNamed(run, trace::SpanActivity::kLoader, "enumerate(DataLoader)")) ==
            facts["dataloader_union_ns"].get<int64_t>());
    });
  }

  TEST_CASE("real PyTorch traces: both partitions add up in every step") {
    ForEachTrace("kineto", [](const model::Run& run, const Facts& facts) {
      const auto kineto = exporting::PartitionAsKineto(run);
      CHECK(kineto.size() == run.rows.steps.size());
      for (const exporting::KinetoStep& step : kineto) {
        int64_t sum = 0;
        for (const int64_t ns : step.ns) sum += ns;
        CHECK(sum == step.end_ns - step.start_ns);
      }
      for (const attribution::StepShare& step : attribution::PartitionSteps(run).steps) {
        int64_t sum = 0;
        for (const int64_t ns : step.ns) sum += ns;
        CHECK(sum == step.end_ns - step.start_ns);
      }
      // What the loader took of a step, where the device did nothing meanwhile.
      for (size_t i = 0; i < facts["profilersteps"].size() && i < kineto.size(); ++i) {
        const auto& step = facts["profilersteps"][i];
        const auto idle = step["gpu_idle_during_dataloader_ns"].get<int64_t>();
        const auto loader = kineto[i].ns[static_cast<size_t>(exporting::KinetoRole::kDataLoader)];
        // Calls into the run-time rank before the loader.
        const auto runtime = kineto[i].ns[static_cast<size_t>(exporting::KinetoRole::kRuntime)];
        // A window lasts until its device work is done, into the next step's fetch.
        const int64_t window = kineto[i].end_ns - kineto[i].start_ns;
        CHECK(loader <= idle + window / 100);
        CHECK(loader + runtime + window / 100 >= idle);
      }
    });
  }

  TEST_CASE("real ranks of one run end their collectives together") {
    const auto corpus = test::CorpusDir();
    if (!corpus) return test::Skip("STALLSCOPE_CORPUS is not set");
    std::vector<model::Run> ranks;
    for (const char* const rank : {"0", "1"}) {
      ranks.push_back(
          Open(*corpus + "/kineto/facebookresearch__dlrm_8rank_worker" + rank + ".pt.trace.json"));
    }
    const auto correction =
        model::CorrectionByCollectives(ranks[0], ranks[1], 0, &attribution::IsCommunication);
    REQUIRE(correction.has_value());
    // Both ran on one host, by one clock of whole microseconds.
    CHECK(correction->pairs == 8);
    CHECK(std::abs(correction->ns) <= 1'000);
    CHECK(correction->spread_ns <= 1'000);
    // Half a second of error in one's clock is found.
    const auto late = model::CorrectionByCollectives(ranks[0], ranks[1], 500'000'000,
                                                     &attribution::IsCommunication);
    REQUIRE(late.has_value());
    CHECK(late->ns == correction->ns - 500'000'000);
  }

  TEST_CASE("real Chrome and TensorFlow traces are read without loss") {
    for (const char* folder : {"chrome", "tf_trace"}) {
      ForEachTrace(folder, [](const model::Run& run, const Facts& facts) {
        CHECK(model::CountSpans(run) > 0);
        CHECK(run.quality.damaged_bytes == 0);
        if (!facts.contains("processes")) return;
        // TF1: the streams' own time, and nothing of what repeats it.
        int64_t busy = 0;
        for (const auto& device : attribution::UseOfDevices(run)) busy += device.busy_ns;
        Intervals streams;
        int64_t longest = 0;
        for (const auto& [process, threads] : facts["processes"].items()) {
          if (process.find("/stream:1") == std::string::npos) continue;
          for (const auto& [thread, use] : threads.items()) {
            longest += use["busy_union_ns"].get<int64_t>();
          }
        }
        CHECK(busy <= longest);
        if (longest != 0) CHECK(busy > 0);
      });
    }
  }
}
