// The same pictures, whatever the files that they come in.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "analyzer/base/clock.h"
#include "analyzer/base/file.h"
#include "collectors/data/png.h"
#include "collectors/data/raw_tensors.h"
#include "tests/collectors/pipeline/pipeline_runs.h"
#include "tests/support/paths.h"

using namespace stallscope;
using test::Delivered;
using test::MakeData;
using test::RunStages;
using test::ScratchDir;

namespace {

constexpr int kFormatImages = 6;

std::string FormatStages(const std::string& format, const std::string& glob, const std::string& ops,
                         const std::string& knobs = "") {
  return R"({"name": "read", "source": {"format": ")" + format + R"(", "files": [")" + glob +
         "\"]" + knobs + R"(}}, {"name": "decode", "map": {"ops": [)" + ops +
         R"~(]}}, {"name": "batch", "batch": {"size": 6}})~";
}

Delivered Run(const std::string& stages) {
  Delivered run = RunStages(stages);
  if (run.error.has_value()) FAIL(run.error->Line());
  return run;
}

// The pictures of a folder of JPEG files, decoded, with their labels.
struct DeliveredPictures {
  std::vector<data::Tensor> pixels;
  std::vector<int64_t> labels;

  explicit DeliveredPictures(const Delivered& run) : labels(run.labels) {
    const size_t bytes = run.values.at(0).size() / labels.size();
    for (size_t i = 0; i < labels.size(); ++i) {
      pixels.emplace_back(data::DType::kUint8, data::Shape{24, 32, 3});
      REQUIRE(pixels.back().bytes() == bytes);
      std::copy_n(run.values[0].data() + i * bytes, bytes, pixels.back().data());
    }
  }
};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("raw tensors and PNG give back the values that went in, and their labels") {
    ScratchDir dir;
    MakeData(dir / "d", data::DataFormat::kImages, kFormatImages, 1, 32, 24);
    const Delivered jpegs = Run(FormatStages("images", dir / "d", R"("decode_jpeg")"));
    const DeliveredPictures pictures(jpegs);
    {
      auto raw = data::RawTensorWriter::Create(dir / "p.raw", data::DType::kUint8, {24, 32, 3});
      REQUIRE(raw.ok());
      data::Buffer png;
      for (size_t i = 0; i < pictures.pixels.size(); ++i) {
        REQUIRE(raw.value().Write(pictures.pixels[i], pictures.labels[i]).ok());
        REQUIRE(data::EncodePng(pictures.pixels[i], png).ok());
        const std::string folder = dir / ("png/" + std::to_string(pictures.labels[i]));
        std::filesystem::create_directories(folder);
        REQUIRE(
            WriteFileAtomically(folder + "/" + std::to_string(i) + ".png", data::AsText(png)).ok());
      }
    }
    const Delivered raw = Run(FormatStages("raw", dir / "p.raw", R"~("busy(0)")~"));
    CHECK(raw.values == jpegs.values);
    CHECK(raw.labels == jpegs.labels);
    CHECK(raw.shapes == std::vector<std::string>{"6x24x32x3"});
    // decode_jpeg knows a PNG when it sees one: folders hold both.
    for (const char* op : {R"("decode_png")", R"("decode_jpeg")"}) {
      const Delivered pngs = Run(FormatStages("images", dir / "png", op));
      CHECK(pngs.values == jpegs.values);
      CHECK(pngs.labels == jpegs.labels);
    }
    // A PNG is cut after it is decoded: the same pixels as a crop of the whole.
    const auto cut = [&](const char* decode) {
      return Run(FormatStages("images", dir / "png", std::string(decode) + R"~(, "crop(16)")~"))
          .values;
    };
    CHECK(cut(R"~("decode_jpeg(crop=true)")~") == cut(R"("decode_png")"));
  }

  TEST_CASE("a serial source reads files of any kind, one after the other") {
    ScratchDir dir;
    const std::string records =
        MakeData(dir / "t", data::DataFormat::kTfRecord, kFormatImages, 2, 32, 24);
    const Delivered direct = Run(FormatStages("tfrecord", records, R"("decode_jpeg")"));
    const Delivered serial = Run(FormatStages("serial", records, R"("decode_jpeg")"));
    CHECK(serial.digest == direct.digest);
    const std::string arrays =
        MakeData(dir / "h", data::DataFormat::kHdf5, kFormatImages, 2, 32, 24);
    CHECK(Run(FormatStages("serial", arrays, R"~("busy(0)")~")).digest ==
          Run(FormatStages("hdf5", arrays, R"~("busy(0)")~")).digest);
    const std::string rows = MakeData(dir / "c", data::DataFormat::kCsv, kFormatImages, 2, 32, 24);
    CHECK(Run(FormatStages("serial", rows, R"("decode_csv")")).digest ==
          Run(FormatStages("csv", rows, R"("decode_csv")")).digest);
  }

  TEST_CASE("HDF5 arrays are read by the names that the spec gives, by several at once") {
    ScratchDir dir;
    const std::string glob = MakeData(dir / "h", data::DataFormat::kHdf5, kFormatImages, 3, 32, 24);
    const Delivered one =
        Run(FormatStages("hdf5", glob, R"~("busy(0)")~", R"(, "cycle_length": 3)"));
    const Delivered three = Run(
        FormatStages("hdf5", glob, R"~("busy(0)")~", R"(, "cycle_length": 3, "parallelism": 3)"));
    CHECK(one.shapes == std::vector<std::string>{"6x24x32x3"});
    CHECK(three.digest == one.digest);
    const Delivered other = RunStages(
        FormatStages("hdf5", glob, R"~("busy(0)")~", R"(, "features": {"image": "nothing"})"));
    REQUIRE(other.error.has_value());
    CHECK(other.error->kind == ErrorKind::kRun);
    CHECK(other.error->Line().find("nothing") != std::string::npos);
  }

  TEST_CASE("stragglers of known place: every so many records, alone and in batches") {
    ScratchDir dir;
    const auto cpu_ns = [](const std::string& stages) {
      const int64_t start = ThreadCpuNs();
      Run(stages);
      return ThreadCpuNs() - start;
    };
    const std::string source =
        R"({"name": "read", "source": {"format": "synthetic", "elements": 64, "bytes": 4}})";
    const std::string map = R"~({"name": "m", "map": {"ops": ["busy(20000, every=32)"]}})~";
    const std::string batch = R"({"name": "b", "batch": {"size": 16}})";
    // Two of 64 at 20 ms each, on the thread that asks; never less CPU than that.
    CHECK(cpu_ns(source + ", " + map + ", " + batch) >= 40'000'000);
    CHECK(cpu_ns(source + ", " + batch + ", " + map) >= 40'000'000);
    CHECK(cpu_ns(source + ", " + map + ", " + batch) < 64 * 20'000'000);
  }
}
