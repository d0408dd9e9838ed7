// Records of one kind, field by field, as CSV or as JSON lines. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/export/text_sink.h"

namespace stallscope::exporting {

class RecordWriter {
 public:
  explicit RecordWriter(TextSink& sink) : sink_(sink) {}
  virtual ~RecordWriter() = default;

  // Once, before the first record.
  virtual void Begin(std::vector<std::string> columns) = 0;
  // Then for each record its fields in the order of the columns.
  virtual void Text(std::string_view text) = 0;
  virtual void Int(int64_t value) = 0;
  virtual void Uint(uint64_t value) = 0;
  virtual void Double(double value) = 0;
  virtual void Unknown() = 0;
  virtual Status EndRecord() = 0;

  // An id's number, or that it is unknown.
  template <class IdType>
  void Id(IdType id) {
    if (id.known()) Uint(id.value);
    if (!id.known()) Unknown();
  }

 protected:
  TextSink& sink_;
};

// RFC 4180: CRLF, and texts in quotes where they need them. Text that a spreadsheet would evaluate
// gets a leading "'" (see AppendCsvField); numbers never do. Unknown values are empty.
class CsvWriter : public RecordWriter {
 public:
  using RecordWriter::RecordWriter;
  void Begin(std::vector<std::string> columns) override;
  void Text(std::string_view text) override;
  void Int(int64_t value) override;
  void Uint(uint64_t value) override;
  void Double(double value) override;
  void Unknown() override { Separate(); }
  Status EndRecord() override;

 private:
  void Separate();
  bool first_ = true;
};

class JsonlWriter : public RecordWriter {
 public:
  using RecordWriter::RecordWriter;
  void Begin(std::vector<std::string> columns) override;
  void Text(std::string_view text) override;
  void Int(int64_t value) override;
  void Uint(uint64_t value) override;
  void Double(double value) override;
  void Unknown() override;
  Status EndRecord() override;

 private:
  void Key();
  std::vector<std::string> keys_;  // with quotes, colon and what separates them
  size_t next_ = 0;
};

}  // namespace stallscope::exporting
