// Reads a trace as greedily as a reader can: every chunk is decoded, every span and row kept.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "analyzer/trace/chunk.h"
#include "analyzer/trace/reader.h"

namespace stallscope::test {

struct EverythingRead {
  std::unordered_map<uint32_t, trace::SpanColumns> spans;  // by track
  trace::EventRows rows;
  std::unordered_map<uint32_t, std::string> strings;
  uint64_t chunks = 0;
  uint64_t refused_spans = 0;
  // Sums over all that was read, so that none of it is read for nothing.
  uint64_t sum = 0;
};

void Keep(const trace::Chunk& chunk, EverythingRead& all);
EverythingRead ReadEverything(trace::TraceReader& reader);

}  // namespace stallscope::test
