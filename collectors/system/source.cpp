#include "collectors/system/source.h"

namespace stallscope::system {

void NumberSource::Read(CounterSink& sink, Effort) {
  for (File& each : files_) {
    const auto text = each.file.Read();
    for (Number& number : each.numbers) {
      const auto value = text ? number.find(*text, number.key) : std::nullopt;
      if (value) {
        number.counter.Put(sink, *value * number.factor);
        continue;
      }
      if (text) each.file.Damaged();
      Miss(number.counter.row(), each.file);
    }
  }
}

std::optional<uint64_t> NumberSource::FindKey(std::string_view text, std::string_view key) {
  return key.empty() ? OnlyNumber(text) : FindNumber(text, key);
}

void NumberSource::Add(const std::string& path, const CounterRow& row, const char* key,
                       uint64_t factor, Find find) {
  if (files_.empty() || files_.back().path != path) files_.push_back({path, ProcFile(path), {}});
  files_.back().numbers.push_back({key, factor, find, Counter(row)});
}

}  // namespace stallscope::system
