#include "collectors/data/example.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "collectors/data/tfrecord.h"
#include "tests/support/paths.h"
#include "tests/support/skip.h"

using namespace std::string_literals;
using stallscope::data::AsBytes;
using stallscope::data::AsText;
using stallscope::data::Buffer;
using stallscope::data::BytesList;
using stallscope::data::ByteView;
using stallscope::data::Example;
using stallscope::data::ExampleView;
using stallscope::data::Feature;
using stallscope::data::FeatureKind;
using stallscope::data::FeatureView;
using stallscope::data::FloatList;
using stallscope::data::Int64List;
using stallscope::data::ParseExample;

namespace {

// What the view says, as plain data.
Example ByView(ByteView record) {
  ExampleView view;
  REQUIRE(view.Reset(record).ok());
  Example example;
  for (const FeatureView& feature : view.features()) {
    Feature& into = example[std::string(feature.name)];
    if (feature.kind == FeatureKind::kBytes) {
      std::vector<ByteView> values;
      REQUIRE(ReadBytes(feature, values).ok());
      BytesList list;
      for (ByteView value : values) list.emplace_back(AsText(value));
      into = list;
    } else if (feature.kind == FeatureKind::kFloat) {
      FloatList list;
      REQUIRE(ReadFloats(feature, list).ok());
      into = list;
    } else if (feature.kind == FeatureKind::kInt64) {
      Int64List list;
      REQUIRE(ReadInt64s(feature, list).ok());
      into = list;
    }
  }
  return example;
}

std::string Field(int number, const std::string& bytes) {
  REQUIRE(bytes.size() < 128);
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string Entry(const std::string& name, const std::string& feature) {
  return Field(1, Field(1, name) + Field(2, feature));
}
std::string Bytes(const std::string& value) { return Field(1, Field(1, value)); }
std::string Ints(const std::string& packed) { return Field(3, Field(1, packed)); }

Example Image() {
  return {{"image/encoded", BytesList{std::string(100'000, '\xff')}},
          {"image/class/label", Int64List{7}},
          {"image/height", Int64List{375}},
          {"image/format", BytesList{"JPEG"}}};
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("the bytes are those that TensorFlow writes for the same example") {
    // tf.train.Example(features={'label': int64 [3]}).SerializeToString()
    Buffer bytes;
    REQUIRE(SerializeExample({{"label", Int64List{3}}}, bytes).ok());
    CHECK(AsText(bytes) == "\x0a\x10\x0a\x0e\x0a\x05label\x12\x05\x1a\x03\x0a\x01\x03"s);
  }

  TEST_CASE("what is written is read, by protobuf and by the view") {
    const Example example = {
        {"empty", {}},
        {"bytes", BytesList{"", "a", "\0\xff"s}},
        {"floats", FloatList{0.0f, -1.5f, std::numeric_limits<float>::max()}},
        {"int64s", Int64List{0, -1, std::numeric_limits<int64_t>::min(),
                             std::numeric_limits<int64_t>::max()}},
        {"no values", Int64List{}},
    };
    Buffer bytes;
    REQUIRE(SerializeExample(example, bytes).ok());
    CHECK(ParseExample(bytes).value() == example);
    CHECK(ByView(bytes) == example);
    Buffer again;
    REQUIRE(SerializeExample(ParseExample(bytes).value(), again).ok());
    CHECK(AsText(again) == AsText(bytes));
  }

  TEST_CASE("the view points into the record, and copies nothing") {
    Buffer bytes;
    REQUIRE(SerializeExample(Image(), bytes).ok());
    ExampleView view;
    REQUIRE(view.Reset(bytes).ok());
    const FeatureView* encoded = view.Find("image/encoded");
    REQUIRE(encoded != nullptr);
    const ByteView image = OneBytes(*encoded).value();
    CHECK(image.size() == 100'000);
    CHECK(image.data() > bytes.data());
    CHECK(image.data() + image.size() <= bytes.data() + bytes.size());
    CHECK(OneInt64(*view.Find("image/class/label")).value() == 7);
    CHECK(view.Find("image/width") == nullptr);
  }

  TEST_CASE("shapes that no writer chooses mean what they mean to protobuf") {
    const std::vector<std::string> records = {
        "",
        Field(1, ""),
        // A feature given twice, in one map and in two: the last one holds.
        Field(1, Entry("a", Bytes("1")) + Entry("a", Bytes("2"))),
        Field(1, Entry("a", Bytes("1"))) + Field(1, Entry("a", Ints("\x02"))),
        // A list in two pieces, a change of kind, a value before its name, no name, no value.
        Field(1, Entry("a", Bytes("1") + Bytes("2"))),
        Field(1, Entry("a", Bytes("1") + Ints("\x02"))),
        Field(1, Field(1, Field(2, Bytes("1")) + Field(1, "a"))),
        Field(1, Field(1, Field(2, Bytes("1")))),
        Field(1, Field(1, Field(1, "a"))),
        Field(1, Field(1, Field(1, "a") + Field(2, Bytes("1")) + Field(2, Bytes("2")))),
        // Single values where packed ones are usual; fields that nobody knows; a group; no ASCII.
        Field(1, Entry("a", Field(3, "\x08\x05\x08\x06"s))),
        Field(1, Entry("a", Field(3, "\x08\x05\x0a\x02\x07\x08"s))),
        Field(1, Entry("a", Bytes("1") + "\x20\x01"s)) + "\x48\x01"s,
        Field(1, Entry("a", Bytes("1")) + "\x23\x24"s),
        Field(1, Entry("a", Field(1, Field(1, "x") + "\x23\x24"s))),
        Field(1, Entry("gr\xc3\xb6\xc3\x9f\x65", Bytes("1"))),
    };
    for (const std::string& record : records) {
      const auto parsed = ParseExample(AsBytes(record));
      REQUIRE(parsed.ok());
      CHECK(ByView(AsBytes(record)) == parsed.value());
    }
  }

  TEST_CASE("records of many features are read as well") {
    Example example;
    for (int i = 0; i < 500; ++i) example["f" + std::to_string(i)] = Int64List{i};
    Buffer bytes;
    REQUIRE(SerializeExample(example, bytes).ok());
    CHECK(ByView(bytes) == example);
  }

  TEST_CASE("an invalid example is an error, and so is a name that is not UTF-8") {
    ExampleView view;
    for (const std::string& record :
         {"label,pixel0"s, "\x0a\x7f"s, "\x0a"s, Field(1, "\x0a\x05short"s) + "\xff"s,
          Field(1, Entry("a\xff", Bytes("1")))}) {
      CHECK_FALSE(ParseExample(AsBytes(record)).ok());
      CHECK_FALSE(view.Reset(AsBytes(record)).ok());
      CHECK(view.features().empty());
    }
    Buffer bytes;
    CHECK_FALSE(SerializeExample({{"a\xff", BytesList{"1"}}}, bytes).ok());
  }

  TEST_CASE("a feature of another kind or number of values is named") {
    Buffer bytes;
    REQUIRE(
        SerializeExample({{"two", Int64List{1, 2}}, {"text", BytesList{"x"}}, {"none", {}}}, bytes)
            .ok());
    ExampleView view;
    REQUIRE(view.Reset(bytes).ok());
    CHECK(OneInt64(*view.Find("two")).error().what == "the feature 'two' holds 2 values, not one");
    CHECK(OneInt64(*view.Find("text")).error().what ==
          "the feature 'text' holds bytes values, not int64");
    CHECK(OneBytes(*view.Find("none")).error().what ==
          "the feature 'none' holds no values, not bytes");
    std::vector<float> floats;
    CHECK_FALSE(ReadFloats(*view.Find("two"), floats).ok());
  }

  TEST_CASE("a list whose values are damaged is an error where it is asked for") {
    // Three bytes are no float; a varint without an end is no integer.
    const std::string record =
        Field(1, Entry("f", Field(2, Field(1, "abc"))) + Entry("i", Field(3, Field(1, "\xff"))) +
                     Entry("b", Bytes("good")));
    ExampleView view;
    REQUIRE(view.Reset(AsBytes(record)).ok());
    std::vector<float> floats;
    std::vector<int64_t> int64s;
    CHECK_FALSE(ReadFloats(*view.Find("f"), floats).ok());
    CHECK_FALSE(ReadInt64s(*view.Find("i"), int64s).ok());
    CHECK(AsText(OneBytes(*view.Find("b")).value()) == "good");
  }

  TEST_CASE("real records have the features that an independent program found") {
    const auto corpus = stallscope::test::CorpusDir();
    if (!corpus.has_value()) return stallscope::test::Skip("STALLSCOPE_CORPUS is not set");
    for (const auto& entry : std::filesystem::directory_iterator(*corpus + "/tfrecord")) {
      std::ifstream text(*corpus + "/facts/" + entry.path().filename().string() + ".json");
      const auto facts = nlohmann::json::parse(text);
      auto reader = stallscope::data::TfRecordReader::Open(entry.path());
      REQUIRE(reader.ok());
      std::map<std::string, int> keys;
      uint64_t image_bytes = 0;
      for (;;) {
        const auto record = reader.value().Next();
        REQUIRE(record.ok());
        if (!record.value().has_value()) break;
        const Example example = ByView(record.value()->payload);
        CHECK(ParseExample(record.value()->payload).value() == example);
        static constexpr const char* kKinds[] = {"", ":bytes", ":float", ":int64"};
        for (const auto& [name, feature] : example) {
          ++keys[name + kKinds[feature.index()]];
          if (name == "image") image_bytes += std::get<BytesList>(feature).at(0).size();
        }
        if (record.value()->index != 0) continue;
        for (const auto& [name, fact] : facts["first_example"].items()) {
          const size_t count = std::visit(
              [](const auto& list) -> size_t {
                if constexpr (requires { list.size(); }) return list.size();
                return 0;
              },
              example.at(name));
          CHECK(count == fact[1].get<size_t>());
        }
      }
      CHECK(keys == facts["feature_keys"].get<std::map<std::string, int>>());
      CHECK(image_bytes == facts["image_bytes"].get<uint64_t>());
    }
  }
}
