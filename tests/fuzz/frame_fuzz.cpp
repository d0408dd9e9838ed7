// Any file: opened, read to its end, rewound and read again. Whole frames are not decoded twice:
// that would halve the inputs per second.
#include <cstdint>
#include <string_view>

#include "analyzer/trace/reader.h"
#include "tests/fuzz/expect.h"
#include "tests/support/greedy_reader.h"
#include "tests/support/memory_file.h"

using namespace stallscope;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static test::MemoryFile file;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  file.Set(bytes);
  auto opened = trace::TraceReader::Open(file.path());
  if (!opened.ok()) return 0;
  STALLSCOPE_EXPECT(trace::TraceReader::LooksLikeTrace(bytes));
  trace::TraceReader& reader = opened.value();
  const test::EverythingRead all = test::ReadEverything(reader);
  const trace::Damage damage = reader.damage();
  // Every byte is part of a frame, damaged or cut off; damage is counted once.
  STALLSCOPE_EXPECT(damage.cut_at ? reader.offset() == *damage.cut_at && *damage.cut_at < size
                                  : reader.offset() == size);
  STALLSCOPE_EXPECT(damage.bytes <= size);
  STALLSCOPE_EXPECT(all.chunks <= reader.frames());
  uint64_t in_ranges = 0;
  uint64_t end = 0;
  for (const trace::DamagedRange& range : damage.ranges) {
    STALLSCOPE_EXPECT(range.offset >= end);
    end = range.offset + range.length;
    in_ranges += range.length;
  }
  STALLSCOPE_EXPECT(end <= size);
  STALLSCOPE_EXPECT(in_ranges == damage.bytes || damage.ranges.size() == trace::Damage::kMaxRanges);
  const uint64_t frames = reader.frames();
  const uint64_t end_offset = reader.offset();
  reader.Rewind();
  for (;;) {
    const auto frame = reader.NextFrame();
    STALLSCOPE_EXPECT(frame.ok());
    if (!frame.value()) break;
  }
  STALLSCOPE_EXPECT(reader.frames() == frames && reader.offset() == end_offset);
  STALLSCOPE_EXPECT(reader.damage().cut_at == damage.cut_at);
  STALLSCOPE_EXPECT(reader.damage().missing_frames == damage.missing_frames);
  STALLSCOPE_EXPECT(reader.damage().bytes <= damage.bytes);
  return 0;
}
