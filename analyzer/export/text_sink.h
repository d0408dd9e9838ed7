// Collects text and hands it to a sink in large pieces; formats numbers. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/base/result.h"
#include "analyzer/export/export.h"

namespace stallscope::exporting {

class TextSink {
 public:
  // `sink` must outlive the object.
  explicit TextSink(const Sink& sink) : sink_(sink) {}

  void Add(std::string_view text) { text_ += text; }
  void Add(char c) { text_ += c; }
  void AddInt(int64_t value);
  void AddUint(uint64_t value);
  // Nanoseconds as microseconds: 1234567 as 1234.567.
  void AddMicros(int64_t ns);
  // The shortest text that reads back as the same double. JSON and CSV have no infinities or NaN:
  // nothing is written and the result is false.
  bool AddDouble(double value);
  // A JSON string with its quotes.
  void AddJsonString(std::string_view text);
  // A text as a field of CSV; see AppendCsvField.
  void AddCsvField(std::string_view text);

  // Between records: flushes the text once there is enough of it.
  Status Breathe() { return text_.size() < kPiece ? Status() : Flush(); }
  Status Flush();

 private:
  static constexpr size_t kPiece = size_t{64} << 10;
  const Sink& sink_;
  std::string text_;
};

}  // namespace stallscope::exporting
