// The round trip with TensorFlow itself. It takes a Python that can import it:
// STALLSCOPE_TENSORFLOW_PYTHON names one.
#include <doctest/doctest.h>

#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "analyzer/base/file.h"
#include "collectors/data/example.h"
#include "collectors/data/generate.h"
#include "collectors/data/tfrecord.h"
#include "tests/support/paths.h"
#include "tests/support/program.h"
#include "tests/support/skip.h"

using namespace stallscope;
using data::AsText;

namespace {

// What the script printed; nothing where the case is skipped.
std::optional<std::string> TensorFlow(std::vector<std::string> arguments) {
  const char* const python = std::getenv("STALLSCOPE_TENSORFLOW_PYTHON");
  if (python == nullptr || *python == '\0') {
    test::Skip("STALLSCOPE_TENSORFLOW_PYTHON is not set");
    return std::nullopt;
  }
  arguments.insert(arguments.begin(),
                   {python, test::SourceDir() + "/tests/collectors/data/tensorflow_examples.py"});
  const auto done = test::RunProgram(arguments);
  if (done.exit_code == 77) {
    test::Skip(std::string(python) + " has no TensorFlow: " + done.out);
    return std::nullopt;
  }
  REQUIRE_MESSAGE(done.exit_code == 0, done.err);
  return done.out;
}

std::vector<std::string> Records(const std::string& path) {
  std::vector<std::string> records;
  auto reader = data::TfRecordReader::Open(path);
  REQUIRE(reader.ok());
  for (;;) {
    const auto record = reader.value().Next();
    REQUIRE(record.ok());
    if (!record.value().has_value()) return records;
    records.emplace_back(AsText(record.value()->payload));
  }
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("TensorFlow reads the labels and images that the generator wrote") {
    const test::ScratchDir dir;
    data::GenerateOptions options;
    options.folder = dir / "set";
    options.images = 20;
    options.shards = 1;
    options.width = 120;
    options.height = 90;
    const auto made = data::Generate(options);
    REQUIRE(made.ok());
    const std::string path = options.folder + "/" + made.value().files[0].name;
    const auto said = TensorFlow({"read", path, dir / "images"});
    if (!said.has_value()) return;

    std::ostringstream lines;
    std::string images;
    data::ExampleView example;
    for (const std::string& record : Records(path)) {
      REQUIRE(example.Reset(data::AsBytes(record)).ok());
      const auto image = AsText(OneBytes(*example.Find("image/encoded")).value());
      lines << OneInt64(*example.Find("image/class/label")).value() << ' ' << image.size() << '\n';
      images += image;
    }
    CHECK(*said == lines.str());
    CHECK(ReadWholeFile(dir / "images", uint64_t{1} << 30).value() == images);
  }

  TEST_CASE("what TensorFlow wrote is read: integers, floats, bytes, an empty list, gzip") {
    const test::ScratchDir dir;
    for (const char* name : {"t.tfrecord", "t.tfrecord.gz"}) {
      if (!TensorFlow({"write", dir / name}).has_value()) return;
      const auto records = Records(dir / name);
      REQUIRE(records.size() == 3);
      for (size_t i = 0; i < records.size(); ++i) {
        data::ExampleView example;
        REQUIRE(example.Reset(data::AsBytes(records[i])).ok());
        CHECK(example.features().size() == 4);
        std::vector<int64_t> numbers;
        REQUIRE(ReadInt64s(*example.Find("numbers"), numbers).ok());
        CHECK(numbers == std::vector<int64_t>{static_cast<int64_t>(i), -2, int64_t{1} << 62});
        REQUIRE(ReadInt64s(*example.Find("empty"), numbers).ok());
        CHECK(numbers.empty());
        std::vector<float> floats;
        REQUIRE(ReadFloats(*example.Find("floats"), floats).ok());
        CHECK(floats == std::vector<float>{0.5F, -1.5F, 3e38F});
        std::vector<data::ByteView> bytes;
        REQUIRE(ReadBytes(*example.Find("bytes"), bytes).ok());
        REQUIRE(bytes.size() == 3);
        CHECK(bytes[0].empty());
        CHECK(AsText(bytes[1]) == std::string_view("\0abc", 4));
        CHECK(AsText(bytes[2]) == std::string(300'000, 'x'));
      }
    }
  }
}
