#include "replay/workload/op_change.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "analyzer/spec/knobs.h"
#include "analyzer/spec/spec_json.h"

using stallscope::ApplySettings;
using stallscope::ReadSpec;
using stallscope::Spec;
using stallscope::replay::At;
using stallscope::replay::ChangedCost;
using stallscope::replay::CompareOps;
using stallscope::replay::Cost;
using stallscope::replay::Ends;
using stallscope::replay::OpChange;
using stallscope::replay::Recorded;

namespace {

Spec SpecOf(const std::string& decode, const std::string& work, const std::string& device = "") {
  const std::string text = R"json({"stages": [
      {"name": "read", "source": {"format": "tfrecord", "files": ["*.tfrecord"]}},
      {"name": "decode", "map": {"ops": [)json" +
                           decode + R"json(]}},
      {"name": "cache", "cache": {}},
      {"name": "work", "map": {"ops": [)json" +
                           work + R"json(]}},
      {"name": "batch", "batch": {"size": 8}})json" +
                           device + R"json(],
      "trainer": {"device": "emulated", "emulated": {"op_gbps": 2}}})json";
  auto spec = ReadSpec(text, "spec");
  REQUIRE_MESSAGE(spec.ok(), spec.error().Line());
  return std::move(spec).value();
}

constexpr const char* kDecode = R"~("decode_jpeg", "resize(160)")~";

// Each of its maps takes 200 us for a sample.
Recorded RecordedOf(Spec spec) {
  Recorded recorded;
  recorded.spec = std::move(spec);
  recorded.stages["read"].bytes = 20'000;
  for (const char* map : {"decode", "work"}) {
    Cost cost;
    cost.cpu_ns = 200'000;
    recorded.stages[map].items = {cost};
    recorded.stages[map].mean_cpu_ns = 200'000;
  }
  return recorded;
}

OpChange Work(const std::string& before, const std::string& now) {
  return CompareOps(RecordedOf(SpecOf(kDecode, before)), SpecOf(kDecode, now));
}

OpChange Rewritten(const std::string& work, const std::vector<std::string>& settings,
                   const std::string& decode = kDecode) {
  const Recorded recorded = RecordedOf(SpecOf(decode, work));
  const auto to = ApplySettings(recorded.spec, settings);
  REQUIRE_MESSAGE(to.ok(), to.error().Line());
  return CompareOps(recorded, to.value());
}

ChangedCost Of(const OpChange& change, const char* stage) {
  CHECK(change.unpriceable == "");
  const auto found = change.stages.find(stage);
  return found == change.stages.end() ? ChangedCost() : found->second;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("busy and sleep cost what their calls say, one element in n an nth of it") {
    const OpChange change =
        Work(R"~("busy(100)")~", R"~("busy(300)", "sleep(50)", "sleep(6400, every=64)")~");
    const ChangedCost work = Of(change, "work");
    CHECK(work.scale == 1);
    CHECK(work.error == 0);
    CHECK(work.more_cpu_ns == doctest::Approx(200'000));
    CHECK(work.more_blocked_ns == doctest::Approx(150'000));
    CHECK_FALSE(change.assumed);
  }

  TEST_CASE("other ops stay what they are beside them") {
    const OpChange change = Work(R"~("flip", "busy(100)")~", R"~("flip")~");
    CHECK(Of(change, "work").more_cpu_ns == doctest::Approx(-100'000));
    CHECK_FALSE(change.assumed);
    CHECK(Work(R"~("tokenize(9)")~", R"~("tokenize(9)", "busy(7)")~").unpriceable.empty());
    CHECK(Work(R"~("flip")~", R"~("flip")~").stages.empty());
  }

  TEST_CASE("a recorded map with other ops takes what is usual of its recorded time") {
    const OpChange change = Work(R"~("color_jitter", "normalize")~", R"~("color_jitter")~");
    const ChangedCost work = Of(change, "work");
    CHECK(change.assumed);
    CHECK(work.scale < 1);
    CHECK(work.scale > 0.5);
    CHECK(work.error > 0);
    // What stays has no error of its own: the more of it, the surer.
    CHECK(work.error < Of(Work(R"~("flip")~", R"~("flip", "color_jitter")~"), "work").error);
    // A stated cost beside it is not scaled.
    const OpChange with_busy =
        Work(R"~("busy(50)", "color_jitter", "normalize")~", R"~("busy(50)", "color_jitter")~");
    const ChangedCost beside = Of(with_busy, "work");
    CHECK(beside.scale == doctest::Approx(work.scale));
    CHECK(beside.more_cpu_ns == doctest::Approx(50'000 * (1 - work.scale)));
  }

  TEST_CASE("what nothing is usual of cannot be priced") {
    CHECK(Work(R"~("flip")~", R"~("tokenize(9)")~").unpriceable.find("work.ops") == 0);
    CHECK(Work(R"~("tokenize(9)")~", R"~("flip")~").unpriceable.find("work.ops") == 0);
    // Nor is a picture of unknown size.
    Recorded recorded = RecordedOf(SpecOf(kDecode, R"~("flip")~"));
    recorded.stages["read"].bytes = 0;
    const Spec smaller = SpecOf(R"~("decode_jpeg", "resize(32)")~", R"~("flip")~");
    CHECK(CompareOps(recorded, smaller).unpriceable.find("decode.ops") == 0);
  }

  TEST_CASE("an op that was not recorded takes its usual time at this machine's speed") {
    const Recorded slow = RecordedOf(SpecOf(kDecode, R"~("busy(200)")~"));
    Recorded fast = slow;
    fast.stages["decode"].mean_cpu_ns /= 2;
    const Spec to = SpecOf(kDecode, R"~("busy(200)", "color_jitter")~");
    const ChangedCost then = Of(CompareOps(slow, to), "work");
    CHECK(then.scale == 1);
    CHECK(then.more_cpu_ns > 0);
    CHECK(then.error > 0.5);
    CHECK(Of(CompareOps(fast, to), "work").more_cpu_ns == doctest::Approx(then.more_cpu_ns / 2));
  }

  TEST_CASE("rewrites: fewer, smaller and later ops") {
    const OpChange folded =
        Rewritten(R"~("cast(float32)", "normalize")~", {"rewrites.constant_folding=true"});
    CHECK(Of(folded, "work").scale < 1);
    const OpChange late =
        Rewritten(R"~("cast(float32)", "flip")~", {"rewrites.narrow_dtype_late_cast=true"});
    CHECK(Of(late, "work").scale < 1);
    const OpChange crop = Rewritten(R"~("flip")~", {"rewrites.crop_aware_decode=true"},
                                    R"~("decode_jpeg", "random_resized_crop(160)")~");
    CHECK(Of(crop, "decode").scale < 1);
    CHECK(Of(crop, "decode").scale > 0.5);
    CHECK(crop.stages.count("work") == 0);
    const OpChange scaled =
        Rewritten(R"~("flip")~", {R"~(decode.ops=["decode_jpeg(scale=1/2)", "resize(32)"])~"},
                  R"~("decode_jpeg", "resize(32)")~");
    CHECK(Of(scaled, "decode").scale < 1);
    // A rewrite that finds nothing to do changes nothing.
    CHECK(Rewritten(R"~("flip")~", {"rewrites.constant_folding=true"}).stages.empty());
  }

  TEST_CASE("vectorise: the batch copies bytes, and the ops work on it") {
    const OpChange change =
        Rewritten(R"~("color_jitter", "normalize")~", {"rewrites.vectorise=true"});
    CHECK(change.unpriceable.empty());
    REQUIRE(change.whole.count("work") == 1);
    CHECK(change.whole.at("work").scale > 0.5);
    CHECK(change.whole.at("work").error > 0);
    CHECK(Of(change, "batch").scale < 0.5);
    CHECK(Of(change, "batch").scale >= 0.25);
    CHECK(change.batch_bytes == 1);  // as the trainer gets it
    // Only a part of the map.
    const OpChange part = Rewritten(R"~("resize(160)", "normalize")~", {"rewrites.vectorise=true"});
    CHECK(Of(part, "work").scale < 1);
    CHECK(part.whole.at("work").scale < 1);
  }

  TEST_CASE("a narrow type: fewer bytes cross the link, and the conversion is another") {
    const OpChange bytes = Rewritten(R"~("flip")~", {"transfer.dtype=uint8"});
    CHECK(bytes.unpriceable.empty());
    CHECK(bytes.link_bytes == 0.25);
    CHECK(bytes.convert.scale == 0);
    const OpChange halves = Rewritten(R"~("normalize")~", {"transfer.dtype=float16"});
    CHECK(halves.link_bytes == 0.5);
    CHECK(halves.convert.more_cpu_ns > 0);
    CHECK(halves.convert.error > 0);
    const OpChange lost = Rewritten(R"~("normalize")~", {"transfer.dtype=uint8"});
    CHECK(lost.unpriceable.find("transfer.dtype") == 0);
  }

  TEST_CASE("maps on the device: as the emulated device's spec has it, guessed of a real one") {
    const Recorded recorded = RecordedOf(SpecOf(kDecode, R"~("flip", "normalize")~"));
    Spec to =
        SpecOf(kDecode, R"~("flip")~",
               R"json(, {"name": "there", "map": {"ops": ["normalize"], "on": "device"}})json");
    to.transfer.dtype = stallscope::TransferDtype::kUint8;
    const OpChange change = CompareOps(recorded, to);
    CHECK(change.unpriceable.empty());
    // One byte of each of 76,800 values is read, and four are written, at 2 bytes per nanosecond.
    CHECK(change.device.more_cpu_ns == doctest::Approx(76'800 * 5 / 2.0));
    CHECK(change.device.error == 0);
    CHECK(change.device_launches == 1);
    CHECK(change.link_bytes == 0.25);
    CHECK(change.batch_bytes == 0.25);
    CHECK(Of(change, "work").scale < 1);
    // Floats over the link become bytes again first.
    to.transfer.dtype = stallscope::TransferDtype::kFloat32;
    CHECK(CompareOps(recorded, to).device.more_cpu_ns == doctest::Approx(76'800 * 10 / 2.0));
    CHECK(CompareOps(recorded, to).device_launches == 2);

    to.trainer.device = stallscope::TrainerDevice::kCuda;
    const OpChange real = CompareOps(recorded, to);
    CHECK(real.device.more_cpu_ns > 0);
    CHECK(real.device.error > 1);
    to.trainer.device = stallscope::TrainerDevice::kHost;
    CHECK_FALSE(CompareOps(recorded, to).unpriceable.empty());
  }

  TEST_CASE("the ends of an error") {
    CHECK(At(Ends::kMiddle, 0.5) == 1);
    CHECK(At(Ends::kMost, 0.5) == 1.5);
    CHECK(At(Ends::kLeast, 0.5) == doctest::Approx(1 / 1.5));
  }
}
