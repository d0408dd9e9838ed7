// For any text, rows are the same at every block size and have the counted number of fields, and
// the reader ends. An image in a row is written and read back unchanged.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "collectors/data/csv_image.h"
#include "collectors/data/csv_reader.h"
#include "tests/fuzz/expect.h"

namespace {

using namespace stallscope;

struct Seen {
  std::vector<std::string> rows;  // an error's line stands for a row that was none
  bool operator==(const Seen&) const = default;
};

Seen ReadAll(data::ByteView bytes, size_t block) {
  data::ReadOptions options;
  options.block_bytes = block;
  auto reader = data::CsvReader::Over(data::OpenMemorySource("fuzz", bytes), options);
  Seen seen;
  if (!reader.ok()) return {{reader.error().Line()}};
  data::CsvFields fields;
  uint64_t line = 0;
  for (;;) {
    const auto row = reader.value().Next();
    if (!row.ok()) {
      seen.rows.push_back(row.error().Line());
      continue;
    }
    if (!row.value().has_value()) return seen;
    STALLSCOPE_EXPECT(row.value()->line > line);
    line = row.value()->line;
    STALLSCOPE_EXPECT(row.value()->fields == reader.value().columns());
    STALLSCOPE_EXPECT(fields.Split(row.value()->text).ok());
    STALLSCOPE_EXPECT(fields.size() == row.value()->fields);
    seen.rows.emplace_back(row.value()->text);
  }
}

void TryImage(std::string_view row) {
  static data::Tensor image;
  static data::Tensor again;
  static data::Buffer written;
  const auto label = data::DecodeCsvImage(row, image);
  if (!label.ok()) return;
  written.Clear();
  data::AppendCsvImage(label.value(), image, written);
  const std::string_view text = data::AsText(written);
  const auto back = data::DecodeCsvImage(text.substr(0, text.size() - 1), again);
  STALLSCOPE_EXPECT(back.ok() && back.value() == label.value());
  STALLSCOPE_EXPECT(data::AsText(image.view()) == data::AsText(again.view()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const data::ByteView bytes(data, size);
  const Seen seen = ReadAll(bytes, 4096);
  STALLSCOPE_EXPECT(seen == ReadAll(bytes, 1 << 16));
  if (size < (1 << 14)) {
    for (const std::string& row : seen.rows) TryImage(row);
    TryImage(data::AsText(bytes));
  }
  return 0;
}
