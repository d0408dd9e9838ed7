// What the spans of a trace take in their columns alone: span_bytes RUN.sst prints each column's
// bytes per span. The file as a whole holds other events and names as well.
#include <array>
#include <cstdio>
#include <string>
#include <utility>

#include "analyzer/trace/chunk.h"
#include "analyzer/trace/reader.h"

namespace {

using stallscope::trace::EncodedSpans;
using stallscope::trace::TraceReader;

constexpr std::array<std::pair<const char*, std::string EncodedSpans::*>, 7> kColumns = {{
    {"class", &EncodedSpans::span_class},
    {"start", &EncodedSpans::start},
    {"duration", &EncodedSpans::duration},
    {"item", &EncodedSpans::item},
    {"bytes", &EncodedSpans::bytes},
    {"cpu_ns", &EncodedSpans::cpu_ns},
    {"waker", &EncodedSpans::waker},
}};

int Print(const char* path) {
  auto reader = TraceReader::Open(path);
  if (!reader.ok()) {
    std::fprintf(stderr, "%s\n", reader.error().Line().c_str());
    return 3;
  }
  uint64_t spans = 0;
  std::array<uint64_t, kColumns.size()> bytes{};
  for (;;) {
    const auto chunk = reader.value().Next();
    if (!chunk.ok()) {
      std::fprintf(stderr, "%s\n", chunk.error().Line().c_str());
      return 3;
    }
    if (!chunk.value()) break;
    for (const EncodedSpans& encoded : chunk.value()->spans) {
      spans += encoded.count;
      for (size_t i = 0; i < kColumns.size(); ++i) {
        bytes[i] += (encoded.*kColumns[i].second).size();
      }
    }
  }
  if (spans == 0) {
    std::fprintf(stderr, "%s: no spans\n", path);
    return 3;
  }
  std::printf("spans %llu", static_cast<unsigned long long>(spans));
  for (size_t i = 0; i < kColumns.size(); ++i) {
    std::printf(" %s %.3f", kColumns[i].first,
                static_cast<double>(bytes[i]) / static_cast<double>(spans));
  }
  std::printf("\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: span_bytes RUN.sst\n");
    return 2;
  }
  return Print(argv[1]);
}
