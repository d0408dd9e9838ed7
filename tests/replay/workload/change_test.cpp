#include "replay/workload/change.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "analyzer/spec/spec_json.h"
#include "replay/workload/op_change.h"

using stallscope::ErrorKind;
using stallscope::Patch;
using stallscope::ReadPatch;
using stallscope::ReadSpec;
using stallscope::replay::Changed;
using stallscope::replay::Recorded;
using stallscope::replay::WithPatch;
using stallscope::replay::WithSettings;
using stallscope::replay::Workload;

namespace {

constexpr const char* kSpec = R"json({"name": "images", "stages": [
  {"name": "read", "source": {"format": "tfrecord", "files": ["*.tfrecord"]}},
  {"name": "decode", "map": {"ops": ["decode_jpeg", "resize(64)"]}},
  {"name": "work", "map": {"ops": ["busy(100)"], "parallelism": 2}},
  {"name": "batch", "batch": {"size": 16}},
  {"name": "prefetch", "prefetch": {"buffer_size": 2}}],
  "trainer": {"device": "emulated", "graph": "captured"}})json";

// `file_bytes`: of a picture; 0: the run does not show it.
Workload Base(const std::string& text = kSpec, double file_bytes = 0) {
  auto recorded = std::make_shared<Recorded>();
  auto spec = ReadSpec(text, "spec");
  REQUIRE(spec.ok());
  recorded->spec = std::move(spec).value();
  recorded->elements_per_epoch = 1000;
  recorded->stages["read"].items.resize(1);
  recorded->stages["read"].bytes = file_bytes;
  Workload workload;
  workload.spec = recorded->spec;
  workload.recorded = recorded;
  return workload;
}

Changed Set(const std::string& setting, const Workload& workload = Base()) {
  const auto changed = WithSettings(workload, {setting});
  REQUIRE_MESSAGE(changed.ok(), (changed.ok() ? setting : changed.error().Line()));
  return changed.value();
}

Changed Patched(const std::string& text, const Workload& workload = Base()) {
  const auto patch = ReadPatch(text, "patch");
  REQUIRE(patch.ok());
  const auto changed = WithPatch(workload, patch.value());
  REQUIRE_MESSAGE(changed.ok(), (changed.ok() ? text : changed.error().Line()));
  return changed.value();
}

// Why a stage behind "decode" cannot be priced.
std::string Inserted(const std::string& stage, const Workload& workload = Base()) {
  return Patched(R"json([{"op": "insert", "after": "decode", "stage": )json" + stage + "}]",
                 workload)
      .unpriceable;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("knobs of speed change the workload's spec and are priceable") {
    for (const char* setting :
         {"work.parallelism=8", "decode.parallelism=2", "batch.size=64", "prefetch.buffer_size=8",
          "transfer.pinned=true", "transfer.overlap=true", "transfer.prefetch_to_device=2",
          "work.deterministic=false", "read.cycle_length=4", "trainer.graph=eager",
          "trainer.emulated.compute_us_per_batch=500", "rewrites.map_fusion=true",
          "rewrites.map_and_batch=true", "work.ops=[\"busy(200)\"]"}) {
      CAPTURE(setting);
      const Workload base = Base();
      const Changed changed = Set(setting, base);
      CHECK(changed.unpriceable.empty());
      CHECK(changed.workload.spec != base.spec);
      CHECK(changed.workload.recorded == base.recorded);
    }
  }

  TEST_CASE("what one run cannot show is named, with the knob and what to record") {
    for (const char* setting : {"decode.ops=[\"decode_jpeg\", \"resize(128)\"]",
                                "transfer.dtype=uint8", "read.format=raw", "trainer.device=host",
                                "batch.drop_remainder=true", "read.files=[\"other/*.tfrecord\"]"}) {
      CAPTURE(setting);
      const Changed changed = Set(setting);
      const std::string text = setting;
      CHECK(changed.unpriceable.find(text.substr(0, text.find('='))) == 0);
      CHECK(changed.unpriceable.find("record") != std::string::npos);
    }
    // Without a graph nothing is captured for each size of a batch.
    std::string eager = kSpec;
    eager.replace(eager.find("captured"), std::string("captured").size(), "eager");
    CHECK(Set("batch.drop_remainder=true", Base(eager)).unpriceable.empty());
  }

  TEST_CASE("a rewrite that the plan refuses changes nothing, another is a doubt") {
    const auto with = [](std::string text, const char* old_ops, const char* ops) {
      return text.replace(text.find(old_ops), std::string(old_ops).size(), ops);
    };
    const Workload casts = Base(with(kSpec, "busy(100)", "cast(float32)"));
    const std::string skip = with(kSpec, "\"files\"", "\"on_error\": \"skip\", \"files\"");
    const Workload skips = Base(with(skip, "busy(100)", "cast(float32)"));
    CHECK(Set("rewrites.crop_aware_decode=true").unpriceable.empty());
    CHECK(Set("rewrites.vectorise=true", casts).unpriceable.find("work.ops") == 0);
    CHECK(Set("rewrites.vectorise=true", skips).unpriceable.empty());
    CHECK(Set("rewrites.map_and_batch=true", casts).workload.doubt > 0);
    CHECK(Set("rewrites.map_and_batch=true", skips).workload.doubt == 0);
  }

  TEST_CASE("other ops are priceable where their usual times are, and said to be assumed") {
    const Workload base = Base(kSpec, 20'000);
    for (const char* setting :
         {"decode.ops=[\"decode_jpeg\", \"resize(128)\"]", "transfer.dtype=uint8",
          "decode.ops=[\"decode_jpeg\", \"resize(64)\", \"normalize\"]"}) {
      CAPTURE(setting);
      const Changed changed = Set(setting, base);
      CHECK(changed.unpriceable == "");
      REQUIRE(changed.workload.ops != nullptr);
      CHECK(changed.workload.ops->assumed);
      REQUIRE_FALSE(changed.workload.assumptions.empty());
      CHECK(changed.workload.assumptions.back().find(": assumes that") != std::string::npos);
    }
    const Changed device = Set("work.on=device", Base(R"json({"stages": [
      {"name": "read", "source": {"format": "synthetic", "bytes": 30000}},
      {"name": "work", "map": {"ops": ["normalize"]}},
      {"name": "batch", "batch": {"size": 16}}],
      "trainer": {"device": "emulated"}})json"));
    CHECK(device.unpriceable == "");
    CHECK(device.workload.assumptions.front().find("at 100 GB/s, according to its spec") !=
          std::string::npos);
    // The emulated device converts for nothing, and says so.
    CHECK(Set("transfer.dtype=uint8", base).workload.assumptions.front().find("in no time") !=
          std::string::npos);
    CHECK_FALSE(Set("work.parallelism=4", base).workload.ops->assumed);
  }

  TEST_CASE("a change that no pipeline can run is unpriceable, and the reason names the stages") {
    std::string text = kSpec;
    const std::string prefetch = R"("prefetch": {"buffer_size": 2})";
    text.replace(text.find(prefetch), prefetch.size(),
                 R"("map": {"ops": ["flip"], "on": "device"})");
    const Changed changed = Patched(R"json([{"op": "insert", "after": "prefetch", "stage":
        {"name": "mixed", "shuffle": {"buffer_size": 4}}}])json",
                                    Base(text));
    CHECK(changed.unpriceable.find("'mixed'") != std::string::npos);
    CHECK(changed.unpriceable.find("'prefetch'") != std::string::npos);
  }

  TEST_CASE("an emulated device takes the same time in any precision, another one does not") {
    const Changed emulated = Set("trainer.precision=bf16");
    CHECK(emulated.unpriceable.empty());
    REQUIRE(emulated.workload.assumptions.size() == 1);
    CHECK(emulated.workload.assumptions[0].find("emulated") != std::string::npos);
    Workload host = Base();
    auto recorded = std::make_shared<Recorded>(*host.recorded);
    recorded->spec.trainer.device = stallscope::TrainerDevice::kHost;
    host.spec = recorded->spec;
    host.recorded = recorded;
    CHECK_FALSE(Set("trainer.precision=bf16", host).unpriceable.empty());
    CHECK_FALSE(Set("trainer.fuse=true", host).unpriceable.empty());
    CHECK(Set("work.parallelism=4", host).unpriceable.empty());
  }

  TEST_CASE("another number of batches per update is priceable if an update's time is known") {
    const Changed emulated = Set("trainer.accumulate=4");
    CHECK(emulated.unpriceable.empty());
    REQUIRE(emulated.workload.assumptions.size() == 1);
    CHECK(emulated.workload.assumptions[0].find("trainer.accumulate") == 0);
    Workload host = Base();
    auto recorded = std::make_shared<Recorded>(*host.recorded);
    recorded->spec.trainer.device = stallscope::TrainerDevice::kHost;
    host.spec = recorded->spec;
    host.recorded = recorded;
    CHECK(Set("trainer.accumulate=4", host).unpriceable.find("trainer.accumulate") == 0);
    recorded->trainer.update_ns = 1e6;
    CHECK(Set("trainer.accumulate=4", host).unpriceable.empty());
    CHECK(Set("trainer.accumulate=4", host).workload.doubt > 0);
  }

  TEST_CASE("an added stage is priceable if its cost follows from what is known") {
    CHECK(Inserted(R"json({"name": "more", "prefetch": {"buffer_size": 4}})json").empty());
    CHECK(Inserted(R"json({"name": "mixed", "shuffle": {"buffer_size": 64}})json").empty());
    CHECK(Inserted(R"json({"name": "cache", "cache": {}})json").empty());
    CHECK(Inserted(R"json({"name": "wait", "map": {"ops": ["sleep(5)"]}})json").empty());
    CHECK_FALSE(Inserted(R"json({"name": "cache", "cache": {"where": "disk"}})json").empty());
    CHECK_FALSE(Inserted(R"json({"name": "more", "map": {"ops": ["flip"]}})json").empty());
    CHECK_FALSE(
        Inserted(R"json({"name": "similar", "bucket_by_length": {"width": 8}})json").empty());
    CHECK_FALSE(
        Inserted(R"json({"name": "some", "filter": {"op": "keep_one_in(2)"}})json").empty());
  }

  TEST_CASE("a cache cannot be priced where no pass over the data was seen to end") {
    Workload workload = Base();
    auto recorded = std::make_shared<Recorded>(*workload.recorded);
    recorded->elements_per_epoch.reset();
    workload.recorded = recorded;
    CHECK_FALSE(Inserted(R"json({"name": "cache", "cache": {}})json", workload).empty());
  }

  TEST_CASE("a store on disk is read at the usual speed, until a probe shows it") {
    const Workload base = Base(kSpec, 20'000);
    for (const char* stage : {R"json({"name": "kept", "snapshot": {"path": "kept"}})json",
                              R"json({"name": "kept", "cache": {"where": "disk"}})json"}) {
      CAPTURE(stage);
      const std::string insert = std::string(R"json([{"op": "insert", "after": "decode",
          "stage": )json") + stage +
                                 "}]";
      const Changed usual = Patched(insert, base);
      CHECK(usual.unpriceable == "");
      CHECK(usual.unprobed.find("kept: ") == 0);
      CHECK(usual.workload.ops->stages.at("kept").more_cpu_ns > 2'000);
      REQUIRE_FALSE(usual.workload.assumptions.empty());
      CHECK(usual.workload.assumptions.front().find("from the page cache") != std::string::npos);
      const auto with = [&](auto change) {
        Workload workload = base;
        auto recorded = std::make_shared<Recorded>(*base.recorded);
        change(*recorded);
        workload.recorded = recorded;
        return Patched(insert, workload);
      };
      const Changed probed =
          with([](Recorded& recorded) { recorded.stages["kept"].hits.resize(1); });
      CHECK(probed.unpriceable == "");
      CHECK(probed.unprobed == "");
      // A disk reads other files, too, at a speed that is not known; nor is an epoch's end.
      CHECK_FALSE(with([](Recorded& recorded) { recorded.from_disk = 0.5; }).unpriceable.empty());
      CHECK_FALSE(with([](Recorded& recorded) {
                    recorded.samples_per_s = 1'000;
                    recorded.stages["read"].mean_io_ns = 500'000;
                  }).unpriceable.empty());
      CHECK_FALSE(with([](Recorded& recorded) {
                    recorded.elements_per_epoch.reset();
                  }).unpriceable.empty());
    }
  }

  TEST_CASE("converted data is read at the usual speed of records, without the parsing of text") {
    std::string text = kSpec;
    const auto replace = [&text](const std::string& before, const std::string& now) {
      text.replace(text.find(before), before.size(), now);
    };
    replace(R"~("format": "tfrecord", "files": ["*.tfrecord"])~",
            R"~("format": "csv", "files": ["*.csv"])~");
    replace(R"~("decode_jpeg", "resize(64)")~", R"~("decode_csv")~");
    constexpr const char* kToRaw = R"json([{"op": "remove", "stage": "decode"},
        {"op": "set", "path": "read.format", "value": "raw"},
        {"op": "set", "path": "read.files", "value": ["*.raw"]}])json";
    const Changed raw = Patched(kToRaw, Base(text, 33'000));
    CHECK(raw.unpriceable == "");
    CHECK(raw.unprobed.find("read.format: ") == 0);
    CHECK(raw.workload.ops->stages.at("read").scale == 0);
    CHECK(raw.workload.ops->stages.count("batch") == 0);  // copies as many pixels
    // Pixels cannot be read from what holds pictures, nor at a rate that is set for the text.
    CHECK_FALSE(Set("read.format=raw", Base(kSpec, 33'000)).unpriceable.empty());
    replace(R"("format": "csv")", R"("throttle_bytes_per_s": 1000, "format": "csv")");
    CHECK_FALSE(Patched(kToRaw, Base(text, 33'000)).unpriceable.empty());
  }

  TEST_CASE("a removed stage is priceable if nothing else depends on it") {
    CHECK(Patched(R"json([{"op": "remove", "stage": "prefetch"}])json").unpriceable.empty());
    CHECK(Patched(R"json([{"op": "remove", "stage": "work"}])json").unpriceable.empty());
    CHECK_FALSE(Patched(R"json([{"op": "remove", "stage": "decode"}])json").unpriceable.empty());
  }

  TEST_CASE("a removed map is priced where what the ops behind it get then has usual times") {
    const auto without = [](const char* ops) {
      std::string text = kSpec;
      text.replace(text.find("\"busy(100)\""), 11, ops);
      text.replace(text.find(R"json({"name": "batch")json"), 0,
                   R"json({"name": "norm", "map": {"ops": ["flip", "normalize"]}}, )json");
      return Patched(R"json([{"op": "remove", "stage": "work"}])json", Base(text, 40'000));
    };
    const Changed cast = without(R"json("cast(float32)")json");
    CHECK(cast.unpriceable == "");
    REQUIRE(cast.workload.ops != nullptr);
    CHECK(cast.workload.ops->stages.at("norm").scale < 1);
    CHECK_FALSE(without(R"json("tokenize(9)")json").unpriceable.empty());
  }

  TEST_CASE("a larger change is less certain, none is certain") {
    CHECK(Set("work.parallelism=2").workload.doubt == 0);
    const double little = Set("work.parallelism=4").workload.doubt;
    CHECK(little > 0);
    CHECK(Set("work.parallelism=16").workload.doubt > little);
    const Changed tuned = Set("work.parallelism=auto");
    CHECK(tuned.workload.doubt > little);
    CHECK_FALSE(tuned.workload.assumptions.empty());
  }

  TEST_CASE("a wrong path is an error that names the nearest") {
    const auto changed = WithSettings(Base(), {"decode.paralelism=2"});
    REQUIRE_FALSE(changed.ok());
    CHECK(changed.error().kind == ErrorKind::kUsage);
    CHECK(changed.error().Line().find("decode.parallelism") != std::string::npos);
  }

  TEST_CASE("changes are judged against what was recorded, however many came before") {
    const Workload there = Set("decode.ops=[\"decode_jpeg\", \"resize(128)\"]").workload;
    const Changed back = Set("decode.ops=[\"decode_jpeg\", \"resize(64)\"]", there);
    CHECK(back.unpriceable.empty());
  }
}
