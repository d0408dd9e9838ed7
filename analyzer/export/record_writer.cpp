#include "analyzer/export/record_writer.h"

#include "analyzer/base/escape.h"

namespace stallscope::exporting {

void CsvWriter::Separate() {
  if (!first_) sink_.Add(',');
  first_ = false;
}

void CsvWriter::Begin(std::vector<std::string> columns) {
  for (const std::string& column : columns) Text(column);
  sink_.Add("\r\n");
  first_ = true;
}

void CsvWriter::Text(std::string_view text) {
  Separate();
  sink_.AddCsvField(text);
}

void CsvWriter::Int(int64_t value) {
  Separate();
  sink_.AddInt(value);
}

void CsvWriter::Uint(uint64_t value) {
  Separate();
  sink_.AddUint(value);
}

void CsvWriter::Double(double value) {
  Separate();
  sink_.AddDouble(value);
}

Status CsvWriter::EndRecord() {
  sink_.Add("\r\n");
  first_ = true;
  return sink_.Breathe();
}

void JsonlWriter::Begin(std::vector<std::string> columns) {
  for (const std::string& column : columns) {
    std::string key = keys_.empty() ? "{\"" : ",\"";
    AppendJsonEscaped(column, key);
    keys_.push_back(key + "\":");
  }
}

void JsonlWriter::Key() { sink_.Add(keys_[next_++]); }

void JsonlWriter::Text(std::string_view text) {
  Key();
  sink_.AddJsonString(text);
}

void JsonlWriter::Int(int64_t value) {
  Key();
  sink_.AddInt(value);
}

void JsonlWriter::Uint(uint64_t value) {
  Key();
  sink_.AddUint(value);
}

void JsonlWriter::Double(double value) {
  Key();
  if (!sink_.AddDouble(value)) sink_.Add("null");
}

void JsonlWriter::Unknown() {
  Key();
  sink_.Add("null");
}

Status JsonlWriter::EndRecord() {
  sink_.Add("}\n");
  next_ = 0;
  return sink_.Breathe();
}

}  // namespace stallscope::exporting
