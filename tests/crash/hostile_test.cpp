// Files made to do harm: each is read to its end within 128 MiB and 12 times its size.
#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "analyzer/trace/frame.h"
#include "analyzer/trace/limits.h"
#include "tests/support/child.h"
#include "tests/support/greedy_reader.h"
#include "tests/support/memory_file.h"
#include "tests/support/random.h"
#include "tests/support/trace_samples.h"
#include "tests/support/wire_bytes.h"

using namespace stallscope;
using namespace stallscope::trace;
using stallscope::test::BytesField;
using stallscope::test::NumberField;
using stallscope::test::Repeat;
using stallscope::test::Varint;

namespace {

constexpr uint64_t kHuge = 0xfffffffe;
constexpr uint64_t kMaxCount = 0xffffffff;

std::string File(const std::vector<std::string>& payloads) { return test::TraceBytes(payloads); }

// As many of `piece` as fit into one payload.
std::string Filled(const std::string& piece) { return Repeat(piece, kMaxPayload / piece.size()); }

// One field of the maximum payload length, filled with `piece`.
std::string FilledField(uint64_t number, const std::string& piece) {
  return BytesField(number, Repeat(piece, (kMaxPayload - 8) / piece.size()));
}

// What a reader made of it; checked in the child, where memory is measured.
using Check = std::function<bool(const test::EverythingRead&, const Damage&)>;

void CheckRead(const std::string& bytes, const Check& check = {}) {
  const test::MemoryFile file(bytes);
  const auto read = [&] {
    auto reader = TraceReader::Open(file.path());
    if (!reader.ok()) _Exit(1);
    const test::EverythingRead all = test::ReadEverything(reader.value());
    if (check && !check(all, reader.value().damage())) _Exit(2);
  };
  const test::ChildResult result = test::RunInChild(read);
  CHECK(result.signal == 0);
  CHECK(result.done);
  if (test::MemoryIsMeasurable()) {
    CHECK(result.grown_bytes < (int64_t{128} << 20) + 12 * static_cast<int64_t>(bytes.size()));
  }
}

bool AllDamaged(const test::EverythingRead& all, const Damage& damage) {
  return all.chunks == 0 && damage.bytes != 0;
}

// A payload of spans with the fewest bytes per span and every optional column.
std::string DenseSpans(uint64_t track, size_t count) {
  const std::string zeros(count, '\0');
  std::string spans = NumberField(1, track) + NumberField(2, count);
  for (uint64_t column = 3; column <= 6; ++column) spans += BytesField(column, zeros);
  return BytesField(8, "") + BytesField(9, spans);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a million empty messages of any kind are refused before they are made") {
    for (const uint64_t field : std::vector<uint64_t>{1, 2, 7, 8, 9, 16, 27, 32, 500}) {
      CAPTURE(field);
      CheckRead(File({Filled(BytesField(field, ""))}), AllDamaged);
    }
    for (uint64_t field = 1; field <= 5; ++field) {
      CheckRead(File({FilledField(7, BytesField(field, ""))}), AllDamaged);
    }
    CheckRead(File({FilledField(32, BytesField(2, ""))}), AllDamaged);
    CheckRead(File({FilledField(6, BytesField(2, ""))}), AllDamaged);
    CheckRead(File({FilledField(25, BytesField(2, ""))}), AllDamaged);
    CheckRead(File({FilledField(9, BytesField(99, ""))}), AllDamaged);
  }

  TEST_CASE("groups hide nothing, however deep") {
    const std::string begin = Varint(100 << 3 | 3);
    const std::string end = Varint(100 << 3 | 4);
    CheckRead(File({begin + end + Repeat(BytesField(9, ""), 500'000)}), AllDamaged);
    CheckRead(File({Filled(begin)}), AllDamaged);
    CheckRead(File({Repeat(begin, 200'000) + Repeat(end, 200'000)}), AllDamaged);
    CheckRead(File({BytesField(7, begin + end + Repeat(BytesField(2, ""), 400'000))}), AllDamaged);
  }

  TEST_CASE("unknown fields cost little") {
    CheckRead(File({Filled(NumberField(15, 1))}));
    CheckRead(File({FilledField(9, NumberField(15, 1))}));
    CheckRead(File({FilledField(7, NumberField(15, 1))}));
    CheckRead(File({FilledField(2, NumberField(1, kHuge))}));
    std::string nested;
    while (nested.size() < 100'000) nested = BytesField(7, nested);
    CheckRead(File({nested}));
  }

  TEST_CASE("counts that the columns do not match are refused") {
    for (uint64_t table = 16; table <= 27; ++table) {
      CAPTURE(table);
      for (const std::string& column : {std::string(), std::string("\1"), std::string(1'000, 1)}) {
        const std::string body = NumberField(1, kMaxCount) + Repeat(BytesField(2, column), 9);
        CheckRead(File({BytesField(table, body)}), AllDamaged);
      }
    }
    std::string spans = NumberField(1, 0) + NumberField(2, kMaxCount);
    for (uint64_t column = 3; column <= 9; ++column) spans += BytesField(column, "\1\1");
    CheckRead(File({BytesField(8, "") + BytesField(9, spans)}),
              [](const test::EverythingRead& all, const Damage&) {
                return all.refused_spans == 1 && all.spans.at(0).size() == 0;
              });
  }

  TEST_CASE("as many spans and rows as fit into a payload are read") {
    CheckRead(File({DenseSpans(1, 260'000), DenseSpans(1, 260'000), DenseSpans(2, 260'000)}),
              [](const test::EverythingRead& all, const Damage&) {
                return all.spans.at(1).size() == 520'000 && all.spans.at(2).size() == 260'000;
              });
    // Rows with one byte per column.
    for (uint64_t table = 16; table <= 27; ++table) {
      for (size_t columns = 3; columns <= 9; ++columns) {
        const size_t count = (kMaxPayload - 100) / columns;
        const std::string body =
            NumberField(1, count) + Repeat(BytesField(2, std::string(count, '\0')), columns);
        CheckRead(File({BytesField(table, body), BytesField(table, body)}));
      }
    }
  }

  TEST_CASE("a span on every possible track costs what it contains") {
    std::string payload = BytesField(8, "");
    for (uint64_t i = 0; i < 13'000; ++i) {
      std::string spans = NumberField(1, kHuge - i * 100'003) + NumberField(2, 1);
      for (uint64_t column = 3; column <= 6; ++column)
        spans += BytesField(column, std::string(1, '\0'));
      payload += BytesField(9, spans);
    }
    CheckRead(File({payload}), [](const test::EverythingRead& all, const Damage&) {
      return all.spans.size() == 13'000;
    });
  }

  TEST_CASE("huge ids are numbers like any other") {
    std::string definitions;
    for (uint64_t kind = 2; kind <= 5; ++kind) {
      std::string body = NumberField(1, kHuge) + BytesField(2, "name");
      if (kind == 2) body += NumberField(4, kHuge) + NumberField(5, kMaxCount);
      definitions += BytesField(kind, body);
    }
    std::string payload = BytesField(7, definitions) + DenseSpans(kHuge, 5) +
                          BytesField(8, NumberField(2, kMaxCount) + NumberField(4, kMaxCount));
    for (uint64_t names = 2; names <= 6; ++names) {
      payload += BytesField(names, NumberField(1, kHuge) + BytesField(2, "n"));
    }
    payload += BytesField(32, BytesField(2, NumberField(1, kHuge)));
    CheckRead(File({payload}), [](const test::EverythingRead& all, const Damage&) {
      return all.chunks == 1 && all.spans.at(kHuge).size() == 5 && all.strings.count(kHuge) == 1;
    });
  }

  TEST_CASE("megabytes and tens of thousands of names are read") {
    CheckRead(File({BytesField(
                  6, NumberField(1, 0) + BytesField(2, std::string(kMaxPayload - 20, 'n')))}),
              [](const test::EverythingRead& all, const Damage&) {
                return all.strings.at(0).size() > 1'000'000;
              });
    std::vector<std::string> payloads;
    for (uint64_t chunk = 0; chunk < 4; ++chunk) {
      std::string names;
      for (uint64_t i = 0; i < 60'000; ++i) {
        names += NumberField(1, chunk * 60'000 + i) + BytesField(2, "name");
      }
      payloads.push_back(BytesField(6, names));
    }
    CheckRead(File(payloads), [](const test::EverythingRead& all, const Damage&) {
      return all.strings.size() == 240'000;
    });
    // Ids without names, names without ids.
    CheckRead(File({FilledField(6, NumberField(1, 5))}),
              [](const test::EverythingRead& all, const Damage&) { return all.strings.empty(); });
  }

  TEST_CASE("times at both ends of 64 bits overflow no sum") {
    constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
    for (uint64_t start : {kMost, kMost - 1, kMost - 2, uint64_t{1} << 63}) {
      for (uint64_t duration : {kMost, kMost >> 1, uint64_t{1} << 63, uint64_t{1}}) {
        const std::string spans = NumberField(2, 1) + BytesField(3, std::string(1, '\0')) +
                                  BytesField(4, Varint(start)) + BytesField(5, Varint(duration)) +
                                  BytesField(6, Varint(kMost));
        CheckRead(File({BytesField(8, "") + BytesField(9, spans)}));
      }
    }
  }

  TEST_CASE("many streams and huge sequence numbers are only numbers") {
    std::string bytes = EncodeFileHeader({});
    for (uint32_t i = 0; i < 100'000; ++i) {
      bytes += EncodeFrame(FrameType::kChunk, i * 42'949, ~uint32_t{0}, "");
    }
    CheckRead(bytes, [](const test::EverythingRead& all, const Damage& damage) {
      return all.chunks == 100'000 && damage.missing_frames == uint64_t{100'000} * 0xffffffff;
    });
  }

  TEST_CASE("a file made of sync markers is read in linear time") {
    // Each marker announces a megabyte; checking each would take minutes.
    std::string header = EncodeFrame(FrameType::kChunk, 0, 0, std::string(kMaxPayload, 'x'));
    header.resize(kFrameHeaderSize);
    const std::string bytes = EncodeFileHeader({}) + Repeat(header, (size_t{32} << 20) / 28) +
                              EncodeFrame(FrameType::kChunk, 0, 0, "");
    CheckRead(bytes, AllDamaged);
    CheckRead(EncodeFileHeader({}) + Repeat(kSync, 1'000'000), AllDamaged);
    CheckRead(EncodeFileHeader({}) + Repeat(kSync.substr(0, 7), 1'000'000), AllDamaged);
  }

  TEST_CASE("noise, zeros and a trace inside a trace are only damage") {
    test::Random random(25);
    CheckRead(EncodeFileHeader({}) + random.Bytes(3'000'000), AllDamaged);
    CheckRead(EncodeFileHeader({}) + std::string(3'000'000, '\0'), AllDamaged);
    const std::string trace = test::RandomTraceBytes(26, 3, 2'000);
    CheckRead(trace + trace, [](const test::EverythingRead& all, const Damage& damage) {
      return all.chunks == 8 && damage.bytes == kHeaderSize;
    });
  }
}
