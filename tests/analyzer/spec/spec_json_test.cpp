#include "analyzer/spec/spec_json.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "analyzer/base/file.h"
#include "analyzer/spec/validate.h"
#include "tests/analyzer/spec/specs.h"
#include "tests/support/paths.h"

using stallscope::BatchSpec;
using stallscope::ErrorKind;
using stallscope::JsonLayout;
using stallscope::Knob;
using stallscope::MapSpec;
using stallscope::ReadSpec;
using stallscope::ReadSpecFile;
using stallscope::SourceSpec;
using stallscope::Spec;
using stallscope::WriteSpec;
using stallscope::test::ExampleSpec;
using stallscope::test::OneOfEach;
using stallscope::test::RandomSpec;
using stallscope::test::ScratchDir;

TEST_SUITE("fast") {
  TEST_CASE("the example is read as it stands") {
    const Spec spec = ExampleSpec();
    CHECK(spec.name == "images");
    CHECK(spec.seed == 7);
    REQUIRE(spec.stages.size() == 7);
    const auto& read = std::get<SourceSpec>(spec.stages[0].kind);
    CHECK(read.format == stallscope::SourceFormat::kTfrecord);
    CHECK(read.files == std::vector<std::string>{"data/*.tfrecord"});
    CHECK(read.cycle_length == Knob{4});
    CHECK(read.block_length == 16);
    CHECK(read.deterministic);
    const auto& augment = std::get<MapSpec>(spec.stages[4].kind);
    CHECK(augment.ops == std::vector<std::string>{"random_resized_crop(224)", "flip"});
    CHECK(augment.parallelism == Knob::Auto());
    CHECK(std::get<BatchSpec>(spec.stages[5].kind).drop_remainder);
    CHECK(spec.transfer.dtype == stallscope::TransferDtype::kUint8);
    CHECK(spec.trainer.steps == 200);
    CHECK(spec.trainer.graph == stallscope::GraphMode::kCaptured);
    CHECK(spec.trainer.emulated.h2d_gbps_pinned == 12);
    CHECK(spec.trainer.optimizer == stallscope::OptimizerSpec{});
  }

  TEST_CASE("the writer says what differs from the defaults and nothing else") {
    const auto text = WriteSpec(ExampleSpec(), JsonLayout::kOneLine);
    CHECK(text == R"({"name":"images","seed":7,"stages":[)"
                  R"({"name":"read","source":{"format":"tfrecord","files":["data/*.tfrecord"],)"
                  R"("cycle_length":4,"block_length":16,"parallelism":2}},)"
                  R"({"name":"shuffle","shuffle":{"buffer_size":1024}},)"
                  R"({"name":"decode","map":{"ops":["decode_jpeg"],"parallelism":2}},)"
                  R"({"name":"cache","cache":{"max_bytes":1000000000}},)"
                  R"x({"name":"augment","map":{"ops":["random_resized_crop(224)","flip"],)x"
                  R"("parallelism":"auto"}},)"
                  R"({"name":"batch","batch":{"size":32,"drop_remainder":true}},)"
                  R"({"name":"prefetch","prefetch":{"buffer_size":2}}],)"
                  R"("transfer":{"pinned":true,"overlap":true,"dtype":"uint8"},)"
                  R"("trainer":{"steps":200,"graph":"captured","fuse":true}})");
  }

  TEST_CASE("plain structs have the defaults of the proto") {
    // Only what has no default is written of specs that code has not touched.
    const auto tree = nlohmann::json::parse(WriteSpec(OneOfEach()));
    CHECK(tree.size() == 1);
    const auto& stages = tree.at("stages");
    CHECK(stages.at(0).at("source") == nlohmann::json{{"format", "tfrecord"}});
    CHECK(stages.at(1).at("shard") == nlohmann::json{{"count", 1}, {"index", 0}});
    CHECK(stages.at(2).at("repeat").empty());
    CHECK(stages.at(3).at("filter") == nlohmann::json{{"op", ""}});
    CHECK(stages.at(4).at("shuffle") == nlohmann::json{{"buffer_size", 1}});
    CHECK(stages.at(5).at("prefetch") == nlohmann::json{{"buffer_size", 1}});
    CHECK(stages.at(6).at("map") == nlohmann::json{{"ops", nlohmann::json::array()}});
    CHECK(stages.at(7).at("cache").empty());
    CHECK(stages.at(8).at("snapshot") == nlohmann::json{{"path", ""}});
    CHECK(stages.at(9).at("bucket_by_length") == nlohmann::json{{"width", 16}});
    CHECK(stages.at(10).at("batch") == nlohmann::json{{"size", 1}});
  }

  TEST_CASE("what is written reads back the same, and is written the same again") {
    std::mt19937_64 random(20240229);
    for (int draw = 0; draw < 300; ++draw) {
      const Spec spec = RandomSpec(random);
      const auto valid = stallscope::Validate(spec);
      REQUIRE_MESSAGE(valid.ok(), valid.error().Line());
      for (JsonLayout layout : {JsonLayout::kIndented, JsonLayout::kOneLine}) {
        const std::string text = WriteSpec(spec, layout);
        const auto again = ReadSpec(text, "again");
        REQUIRE_MESSAGE(again.ok(), again.error().Line() << '\n' << text);
        REQUIRE(again.value() == spec);
        REQUIRE(WriteSpec(again.value(), layout) == text);
      }
    }
  }

  TEST_CASE("a whole number may be written as JSON writes large ones") {
    const auto spec = ReadSpec(
        stallscope::test::WithStages(R"({"name": "c", "cache": {"max_bytes": 1e9}})"), "s");
    REQUIRE(spec.ok());
    CHECK(std::get<stallscope::CacheSpec>(spec.value().stages[1].kind).max_bytes == 1'000'000'000);
  }

  TEST_CASE("each word has its enumerator") {
    using namespace stallscope;
    CHECK(ToWord(SourceFormat::kTfrecord) == "tfrecord");
    CHECK(ToWord(SourceFormat::kImages) == "images");
    CHECK(ToWord(SourceFormat::kCsv) == "csv");
    CHECK(ToWord(SourceFormat::kHdf5) == "hdf5");
    CHECK(ToWord(SourceFormat::kRaw) == "raw");
    CHECK(ToWord(SourceFormat::kSerial) == "serial");
    CHECK(ToWord(SourceFormat::kSynthetic) == "synthetic");
    CHECK(ToWord(OnError::kFail) == "fail");
    CHECK(ToWord(OnError::kSkip) == "skip");
    CHECK(ToWord(MapOn::kHost) == "host");
    CHECK(ToWord(MapOn::kDevice) == "device");
    CHECK(ToWord(CacheWhere::kMemory) == "memory");
    CHECK(ToWord(CacheWhere::kDisk) == "disk");
    CHECK(ToWord(TransferDtype::kUint8) == "uint8");
    CHECK(ToWord(TransferDtype::kFloat16) == "float16");
    CHECK(ToWord(TransferDtype::kFloat32) == "float32");
    CHECK(ToWord(ModelKind::kMixer) == "mixer");
    CHECK(ToWord(ModelKind::kMlp) == "mlp");
    CHECK(ToWord(OptimizerKind::kSgd) == "sgd");
    CHECK(ToWord(OptimizerKind::kAdam) == "adam");
    CHECK(ToWord(StrategyKind::kSingle) == "single");
    CHECK(ToWord(StrategyKind::kMirrored) == "mirrored");
    CHECK(ToWord(StrategyKind::kMultiWorker) == "multi_worker");
    CHECK(ToWord(StrategyKind::kParameterServer) == "parameter_server");
    CHECK(ToWord(EmulatedPreset::kNone) == "none");
    CHECK(ToWord(EmulatedPreset::kResnet50A100) == "resnet50_a100");
    CHECK(ToWord(EmulatedPreset::kCosmoflowH100) == "cosmoflow_h100");
    CHECK(ToWord(TrainerDevice::kHost) == "host");
    CHECK(ToWord(TrainerDevice::kEmulated) == "emulated");
    CHECK(ToWord(TrainerDevice::kCuda) == "cuda");
    CHECK(ToWord(Precision::kFp32) == "fp32");
    CHECK(ToWord(Precision::kTf32) == "tf32");
    CHECK(ToWord(Precision::kFp16) == "fp16");
    CHECK(ToWord(Precision::kBf16) == "bf16");
    CHECK(ToWord(GraphMode::kEager) == "eager");
    CHECK(ToWord(GraphMode::kCaptured) == "captured");
  }

  TEST_CASE("each kind of stage has its word") {
    for (const auto& stage : OneOfEach().stages) CHECK(KindWord(stage) == stage.name);
  }

  TEST_CASE("a preset stands for figures, and no preset for those that are given") {
    stallscope::EmulatedSpec emulated;
    emulated.launch_us = 3;
    CHECK(Resolved(emulated) == emulated);
    const auto resolved = [](stallscope::EmulatedPreset preset) {
      return Resolved(stallscope::EmulatedSpec{.preset = preset});
    };
    using enum stallscope::EmulatedPreset;
    for (const auto preset :
         {kResnet50A100, kResnet50H100, kUnet3dA100, kUnet3dH100, kCosmoflowA100, kCosmoflowH100}) {
      const auto figures = resolved(preset);
      CHECK(figures.preset == kNone);
      CHECK(figures.compute_us_per_batch == 0);
      CHECK(figures.compute_us_per_sample > 0);
      CHECK(figures.h2d_gbps_pinned > figures.h2d_gbps_pageable);
    }
    // As they are published: seconds for a batch.
    CHECK(resolved(kResnet50H100).compute_us_per_sample * 400 == doctest::Approx(224e3));
    CHECK(resolved(kResnet50A100).compute_us_per_sample * 400 == doctest::Approx(435e3));
    CHECK(resolved(kUnet3dH100).compute_us_per_sample * 7 == doctest::Approx(323e3));
    CHECK(resolved(kUnet3dA100).compute_us_per_sample * 7 == doctest::Approx(636e3));
    CHECK(resolved(kCosmoflowH100).compute_us_per_sample == doctest::Approx(3500));
    CHECK(resolved(kCosmoflowA100).compute_us_per_sample == doctest::Approx(5510));
  }

  TEST_CASE("a file that is missing is a missing input, one that is too large a bad spec") {
    ScratchDir dir;
    const auto missing = ReadSpecFile(dir / "none.json");
    REQUIRE_FALSE(missing.ok());
    CHECK(missing.error().kind == ErrorKind::kInput);
    std::string text = stallscope::test::kExample;
    text.resize(stallscope::kMaxSpecBytes, ' ');
    REQUIRE(stallscope::WriteFileAtomically(dir / "full.json", text).ok());
    CHECK(ReadSpecFile(dir / "full.json").ok());
    REQUIRE(stallscope::WriteFileAtomically(dir / "over.json", text + ' ').ok());
    const auto over = ReadSpecFile(dir / "over.json");
    REQUIRE_FALSE(over.ok());
    CHECK(over.error().kind == ErrorKind::kUsage);
    CHECK_FALSE(ReadSpec(text + ' ', "s").ok());
  }
}
