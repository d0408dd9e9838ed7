// Any payload: decoded, counted, its spans appended.
#include <cstdint>
#include <map>
#include <string_view>

#include "analyzer/trace/chunk.h"
#include "analyzer/trace/limits.h"
#include "analyzer/trace/wire_walk.h"
#include "tests/fuzz/expect.h"
#include "tests/support/greedy_reader.h"

using namespace stallscope;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view payload(reinterpret_cast<const char*>(data), size);
  const auto messages = trace::CountMessages(payload);
  const trace::ChunkCounts counts = trace::CountChunk(payload);
  const Result<trace::Chunk> chunk = trace::DecodeChunk(payload);
  if (!chunk.ok()) return 0;
  STALLSCOPE_EXPECT(messages && *messages <= trace::kMaxMessagesInPayload);
  test::EverythingRead all;
  test::Keep(chunk.value(), all);
  // A loader reserves by the counts: they must suffice for what is then read.
  std::map<uint32_t, uint64_t> reserved;
  for (const auto& [track, count] : counts.spans) reserved[track.value] += count;
  for (const auto& [track, spans] : all.spans) {
    STALLSCOPE_EXPECT(spans.size() <= reserved[track]);
    STALLSCOPE_EXPECT(spans.size() * 4 <= size);
    STALLSCOPE_EXPECT(spans.bytes.empty() || spans.bytes.size() == spans.size());
    STALLSCOPE_EXPECT(spans.waker.empty() || spans.waker.size() == spans.size());
    for (size_t i = 0; i < spans.size(); ++i) {
      STALLSCOPE_EXPECT(trace::IsTime(spans.start_ns[i]) && trace::IsTime(spans.EndNs(i)));
      STALLSCOPE_EXPECT(spans.DurationNs(i) >= 0);
    }
  }
  trace::ForEachTable(all.rows, [&](int number, const auto& table) {
    STALLSCOPE_EXPECT(table.size() * 3 <= size);
    STALLSCOPE_EXPECT(table.empty() || counts.rows.count(number) == 1);
  });
  return 0;
}
