#include "options.h"

#include <charconv>
#include <cstdint>
#include <string_view>

namespace example {
namespace {

template <class Number>
bool ParseNumber(std::string_view text, Number low, Number high, Number& number) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() && end == text.data() + text.size() && number >= low &&
         number <= high;
}

bool SetOption(std::string_view name, std::string_view value, Options& options) {
  if (name == "-o") return !(options.output = value).empty();
  if (name == "--seconds") return ParseNumber(value, 0.0, 1e6, options.seconds);
  if (name == "--items") return ParseNumber(value, uint64_t{1}, UINT64_MAX, options.items);
  if (name == "--block")
    return ParseNumber(value, size_t{16}, size_t{1} << 30, options.block_bytes);
  if (name == "--batch") return ParseNumber(value, size_t{1}, size_t{1} << 20, options.batch_size);
  return ParseNumber(value, size_t{1}, size_t{256}, options.workers);  // --workers
}

bool TakesValue(std::string_view name) {
  return name == "-o" || name == "--seconds" || name == "--items" || name == "--block" ||
         name == "--batch" || name == "--workers";
}

}  // namespace

const char* const kUsage =
    "Usage: stallscope-example [options] [FILE...]\n"
    "Trains on words: reads blocks of the files (or generates some), tokenizes them, and trains.\n"
    "  -o RUN.sst     the trace (example.sst)\n"
    "  --seconds N    run time in seconds (3)\n"
    "  --items N      stop early after this many elements\n"
    "  --no-record    do the same work without recording\n"
    "  --block BYTES  bytes of text per element (65536)\n"
    "  --batch N      elements per batch (32)\n"
    "  --workers N    tokenizer threads (2)\n";

bool ParseOptions(int argc, char** argv, Options& options, std::string& error) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "-h" || argument == "--help") {
      options.help = true;
    } else if (argument == "--no-record") {
      options.record = false;
    } else if (TakesValue(argument)) {
      const std::string_view value = i + 1 < argc ? argv[++i] : "";
      if (!SetOption(argument, value, options)) {
        error = std::string(argument) + " does not take '" + std::string(value) + "'; see --help";
        return false;
      }
    } else if (argument.size() > 1 && argument[0] == '-') {
      error = "unknown option '" + std::string(argument) + "'; see --help";
      return false;
    } else {
      options.files.emplace_back(argument);
    }
  }
  return true;
}

}  // namespace example
