// FORMAT.md says what the code does.
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "analyzer/base/file.h"
#include "analyzer/trace/chunk.h"
#include "analyzer/trace/reader.h"
#include "analyzer/trace/table_codec.h"
#include "tests/support/memory_file.h"
#include "tests/support/paths.h"

using namespace stallscope;
using namespace stallscope::trace;

namespace {

std::vector<std::string> PageLines() {
  const auto page = ReadWholeFile(test::SourceDir() + "/analyzer/trace/FORMAT.md", 1 << 20);
  REQUIRE(page.ok());
  std::vector<std::string> lines;
  std::istringstream in(page.value());
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The bytes of the block ```hex: pairs of hex digits, as far as a line has them.
std::string ExampleBytes() {
  std::string bytes;
  bool inside = false;
  for (const std::string& line : PageLines()) {
    if (line == "```hex") {
      inside = true;
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      std::istringstream words(line.substr(0, 50));
      for (std::string word; words >> word;) {
        REQUIRE(word.size() == 2);
        bytes += static_cast<char>(std::stoi(word, nullptr, 16));
      }
    }
  }
  return bytes;
}

class ExampleNames : public NameSource {
 public:
  std::string StageName(StageId) const override { return "decode"; }
  std::string QueueName(QueueId) const override { return "in"; }
  std::string TrackName(TrackId) const override { return "worker"; }
  std::string CounterName(CounterId) const override { return "rss"; }
  std::string String(StringId) const override { return ""; }
};

constexpr SpanClass kPageWork{SpanKind::kWork, StageId{1}, WaitCause::kUnknown, QueueId::None()};
constexpr SpanClass kPageWait{SpanKind::kWait, StageId::None(), WaitCause::kEmpty, QueueId{0}};

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("the page's example is what our writer writes") {
    const ExampleNames names;
    ChunkBuilder builder(names);
    builder.AddSpan(TrackId{2}, kPageWork, 1'000, 1'300, ItemId{7});
    builder.AddCost(0, 250);
    builder.AddSpan(TrackId{2}, kPageWait, 1'300, 1'400, ItemId::None());
    builder.AddSpan(TrackId{2}, kPageWork, 1'390, 1'392, ItemId{5});
    builder.Add(Sample{1'200, 100.0, CounterId{0}});
    builder.Add(Sample{1'150, -1.0, CounterId::None()});
    std::string bytes = EncodeFileHeader({});
    bytes += EncodeFrame(FrameType::kChunk, 0, 0, builder.Finish({5'000, 1'500, 0}));
    builder.SetSeal({2'000, {{TrackId{2}, 4, 3, 1}}, ""});
    bytes += EncodeFrame(FrameType::kSeal, 0, 1, builder.Finish({9'000, 2'000, 0}));
    CHECK(bytes.size() == 235);
    CHECK(ExampleBytes() == bytes);
  }

  TEST_CASE("the page's example is what our reader reads") {
    const test::MemoryFile file(ExampleBytes());
    auto reader = TraceReader::Open(file.path());
    REQUIRE(reader.ok());
    const auto first = reader.value().Next();
    REQUIRE(first.ok());
    REQUIRE(first.value());
    const Chunk& chunk = *first.value();
    CHECK(chunk.stage_names == Names{{1, "decode"}});
    CHECK(chunk.track_names == Names{{2, "worker"}});
    REQUIRE(chunk.spans.size() == 1);
    SpanColumns spans;
    REQUIRE(AppendSpans(chunk.spans[0], {0, 1}, spans));
    CHECK(spans.start_ns == Column<int64_t>{1'000, 1'300, 1'390});
    CHECK(spans.duration == Column<uint32_t>{300, 100, 2});
    CHECK(spans.item == Column<uint64_t>{7, ItemId::None().value, 5});
    CHECK(spans.cpu_ns == std::vector<uint64_t>{250, 0, 0});
    CHECK(chunk.rows.samples ==
          std::vector<Sample>{{1'200, 100.0, CounterId{0}}, {1'150, -1.0, CounterId::None()}});
    const auto last = reader.value().Next();
    REQUIRE(last.ok());
    REQUIRE(last.value());
    CHECK(last.value()->seal == Seal{2'000, {{TrackId{2}, 4, 3, 1}}, ""});
    CHECK_FALSE(reader.value().Next().value());
    CHECK(reader.value().damage().bytes == 0);
  }

  TEST_CASE("the page lists the columns of every table, and which are deltas") {
    std::map<int, std::string> listed;
    for (const std::string& line : PageLines()) {
      std::istringstream cells(line);
      std::string empty, number, name, columns;
      std::getline(cells, empty, '|');
      std::getline(cells, number, '|');
      std::getline(cells, name, '|');
      std::getline(cells, columns, '|');
      if (columns.find("\xce\x94") == std::string::npos) continue;  // Δ
      listed[std::stoi(number)] = columns;
    }
    EventRows rows;
    size_t tables = 0;
    ForEachTable(rows, [&]<class Row>(int number, std::vector<Row>&) {
      CAPTURE(number);
      ++tables;
      REQUIRE(listed.count(number) == 1);
      std::string codings;
      std::istringstream columns(listed[number]);
      for (std::string column; std::getline(columns, column, ',');) {
        codings += column.find("\xce\x94") != std::string::npos ? 'd' : 'p';
      }
      std::string expected;
      [&]<class... C>(std::tuple<C...>*) {
        ((expected += C::kCoding == Coding::kDelta ? 'd' : 'p'), ...);
      }(static_cast<typename Columns<Row>::List*>(nullptr));
      CHECK(codings == expected);
    });
    CHECK(listed.size() == tables);
  }
}
