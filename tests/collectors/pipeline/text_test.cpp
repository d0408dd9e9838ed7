// Texts on their way to batches: words become numbers, lists one length, neighbors similar lengths.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include "collectors/data/example.h"
#include "collectors/data/tfrecord.h"
#include "tests/collectors/pipeline/pipeline_runs.h"
#include "tests/collectors/recorder/recorded_trace.h"
#include "tests/support/paths.h"

using namespace stallscope;
using test::Delivered;
using test::RunStages;
using test::ScratchDir;

namespace {

// One record for each text, with its place as its label.
std::string WriteTexts(const ScratchDir& dir, const std::vector<std::string>& texts,
                       const std::string& feature = "text") {
  auto writer = data::TfRecordWriter::Create(dir / "texts");
  data::Buffer record;
  int64_t label = 0;
  for (const std::string& text : texts) {
    const data::Example example = {{feature, data::BytesList{text}},
                                   {"label", data::Int64List{label++}}};
    REQUIRE(data::SerializeExample(example, record).ok());
    REQUIRE(writer.value().Write(record.view()).ok());
  }
  REQUIRE(writer.value().Finish().ok());
  return dir / "texts";
}

// "w w w": so many words.
std::string Words(int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i) text += "w ";
  return text;
}

std::vector<std::string> TextsOf(const std::vector<int64_t>& lengths) {
  std::vector<std::string> texts;
  for (const int64_t length : lengths) texts.push_back(Words(length));
  return texts;
}

std::string TextSource(const std::string& file, const std::string& more = "") {
  return R"({"name": "read", "source": {"format": "tfrecord", "files": [")" + file + "\"]" +
         (more.empty() ? "" : ", " + more) + "}}, ";
}

std::string TextMap(const std::string& ops, int parallelism = 1) {
  return R"({"name": "tokens", "map": {"ops": [)" + ops + R"(], "parallelism": )" +
         std::to_string(parallelism) + "}}";
}

std::vector<int32_t> NumbersIn(const std::vector<uint8_t>& bytes) {
  std::vector<int32_t> numbers(bytes.size() / sizeof(int32_t));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

std::string FailureOf(const Delivered& run) { return run.error ? run.error->Line() : "none"; }

constexpr const char* kPaddedBatch = R"(, {"name": "batch", "batch": {"size": 4, "pad": true}})";
constexpr const char* kBucket = R"(, {"name": "bucket", "bucket_by_length": {"width": 10}})";

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("each word is a number from 1 on, the same one wherever it stands") {
    ScratchDir dir;
    const std::string file = WriteTexts(dir, {"a cat  and\ta dog\n", "dog", " ", "a\r\n"});
    const Delivered run = RunStages(TextSource(file) + TextMap("\"tokenize(1000000)\""));
    REQUIRE_MESSAGE(!run.error, FailureOf(run));
    CHECK(run.shapes == std::vector<std::string>{"5", "1", "1", "1"});
    CHECK(run.labels == std::vector<int64_t>{0, 1, 2, 3});
    const auto first = NumbersIn(run.values[0]);
    CHECK(first[0] == first[3]);
    CHECK(std::set<int32_t>(first.begin(), first.end()).size() == 4);
    CHECK(*std::min_element(first.begin(), first.end()) >= 1);
    CHECK(NumbersIn(run.values[1]) == std::vector<int32_t>{first[4]});
    CHECK(NumbersIn(run.values[2]) == std::vector<int32_t>{0});
    CHECK(NumbersIn(run.values[3]) == std::vector<int32_t>{first[0]});
    const Delivered few = RunStages(TextSource(file) + TextMap("\"tokenize(2)\""));
    for (const int32_t number : NumbersIn(few.values[0])) CHECK((number == 1 || number == 2));
  }

  TEST_CASE("a text has the usual names, or the one in the source's features") {
    ScratchDir dir;
    const std::string file = WriteTexts(dir, {"one two"}, "body");
    CHECK(FailureOf(RunStages(TextSource(file) + TextMap("\"tokenize(9)\"")))
              .find("none of the usual text features") != std::string::npos);
    const Delivered named =
        RunStages(TextSource(file, R"("features": {"text": "body"})") + TextMap("\"tokenize(9)\""));
    CHECK_MESSAGE(named.shapes == std::vector<std::string>{"2"}, FailureOf(named));
    CHECK(FailureOf(RunStages(R"({"name": "read", "source": {"format": "synthetic"}}, )" +
                              TextMap("\"tokenize(9)\"")))
              .find("tokenize needs a record with a text, not values") != std::string::npos);
  }

  TEST_CASE("a filter sees the class of a text that is still a record") {
    ScratchDir dir;
    const std::string file = WriteTexts(dir, {"a", "b", "c", "d"});
    const Delivered run =
        RunStages(TextSource(file) + R"~({"name": "some", "filter": {"op": "label_below(2)"}}, )~" +
                  TextMap("\"tokenize(9)\""));
    REQUIRE_MESSAGE(!run.error, FailureOf(run));
    CHECK(run.labels == std::vector<int64_t>{0, 1});
  }

  TEST_CASE("pad in a map gives every list its length, and takes nothing else") {
    ScratchDir dir;
    const std::string file = WriteTexts(dir, {"a b", "a b c d e"});
    const Delivered run = RunStages(TextSource(file) + TextMap(R"~("tokenize(1000)", "pad(3)")~") +
                                    R"(, {"name": "batch", "batch": {"size": 2}})");
    REQUIRE_MESSAGE(!run.error, FailureOf(run));
    CHECK(run.shapes == std::vector<std::string>{"2x3"});
    const auto rows = NumbersIn(run.values[0]);
    CHECK(rows[0] == rows[3]);
    CHECK(rows[1] == rows[4]);
    CHECK(rows[2] == 0);
    CHECK(rows[5] > 0);
    CHECK(FailureOf(RunStages(TextSource(file) + TextMap("\"pad(3)\"")))
              .find("pad needs a list of values") != std::string::npos);
  }

  TEST_CASE("buckets fill batches with similar lengths, and lose no sample") {
    ScratchDir dir;
    std::vector<int64_t> lengths;
    for (int64_t i = 0; i < 50; ++i) lengths.push_back(1 + i * 17 % 40);
    const std::string stages = TextSource(WriteTexts(dir, TextsOf(lengths)));
    const Delivered plain = RunStages(stages + TextMap("\"tokenize(99)\"") + kPaddedBatch);
    const Delivered run = RunStages(stages + TextMap("\"tokenize(99)\"") + kBucket + kPaddedBatch);
    REQUIRE_MESSAGE(!run.error, FailureOf(run));
    REQUIRE(run.labels.size() == 50);
    CHECK(std::set<int64_t>(run.labels.begin(), run.labels.end()).size() == 50);
    const auto bytes = [](const Delivered& of) {
      return std::accumulate(of.values.begin(), of.values.end(), size_t{0},
                             [](size_t sum, const auto& batch) { return sum + batch.size(); });
    };
    CHECK(bytes(run) < bytes(plain) * 4 / 5);
    // Only what is left of the buckets at the end is mixed.
    std::map<int64_t, size_t> in_bucket;
    for (const int64_t length : lengths) ++in_bucket[(length + 9) / 10];
    size_t full = 0;
    for (const auto& [bucket, count] : in_bucket) full += count / 4;
    for (size_t batch = 0; batch < full; ++batch) {
      std::set<int64_t> buckets;
      for (size_t i = 0; i < 4; ++i) {
        buckets.insert((lengths[static_cast<size_t>(run.labels[4 * batch + i])] + 9) / 10);
      }
      CHECK(buckets.size() == 1);
    }
    const Delivered parallel =
        RunStages(stages + TextMap("\"tokenize(99)\"", 3) + kBucket + kPaddedBatch);
    CHECK(parallel.digest == run.digest);
  }

  TEST_CASE("each epoch fills its buckets anew, if repeat is behind the batch") {
    ScratchDir dir;
    const std::string stages = TextSource(WriteTexts(dir, TextsOf({1, 11, 2, 12, 3, 13}))) +
                               TextMap("\"tokenize(99)\"") + kBucket + kPaddedBatch +
                               R"(, {"name": "again", "repeat": {"count": 2}})";
    const Delivered run = RunStages(stages);
    REQUIRE_MESSAGE(!run.error, FailureOf(run));
    CHECK(run.labels == std::vector<int64_t>{0, 2, 4, 1, 3, 5, 0, 2, 4, 1, 3, 5});
  }

  TEST_CASE("the trace has the share of each batch that is padding") {
    ScratchDir dir;
    const std::string stages = TextSource(WriteTexts(dir, TextsOf({4, 2, 1, 1, 8, 8, 8, 8}))) +
                               TextMap("\"tokenize(99)\"") + kPaddedBatch;
    auto recorder = recorder::Recorder::Start(dir / "run.sst", {});
    REQUIRE(recorder.ok());
    {
      const recorder::ThreadScope scope(recorder.value().get(), "trainer");
      CHECK_FALSE(RunStages(stages, "", 10, recorder.value().get()).error.has_value());
    }
    recorder.value()->Stop();
    std::vector<double> padding;
    for (const trace::Sample& sample : test::ReadTrace(dir / "run.sst").rows.samples) {
      padding.push_back(sample.value);
    }
    CHECK(padding == std::vector<double>{0.5, 0});
  }
}
