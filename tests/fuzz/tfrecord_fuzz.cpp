// For any bytes, plain or packed, the reader yields records with correct CRCs or says why not; it
// ends, its offsets only grow, and what it skips is counted. The same for raw tensors.
#include <cstddef>
#include <cstdint>

#include "collectors/data/buffer.h"
#include "collectors/data/file_set.h"
#include "collectors/data/raw_tensors.h"
#include "collectors/data/tfrecord.h"
#include "tests/fuzz/expect.h"

namespace {

using namespace stallscope;

void ReadRecords(data::ByteView bytes, size_t block) {
  data::ReadOptions options;
  options.block_bytes = block;
  auto reader = data::TfRecordReader::Over(data::OpenMemorySource("fuzz", bytes), options);
  if (!reader.ok()) return;
  uint64_t next_offset = 0;
  uint64_t given = 0;
  for (;;) {
    const auto record = reader.value().Next();
    if (!record.ok()) {
      STALLSCOPE_EXPECT(record.error().kind == ErrorKind::kRun);
      STALLSCOPE_EXPECT(record.error().where.find("fuzz") == 0);
      STALLSCOPE_EXPECT(reader.value().lost().records > 0 || reader.value().lost().rest_of_file);
      continue;
    }
    if (!record.value().has_value()) break;
    STALLSCOPE_EXPECT(record.value()->offset >= next_offset);
    STALLSCOPE_EXPECT(record.value()->length == record.value()->payload.size() + 16);
    next_offset = record.value()->offset + record.value()->length;
    ++given;
  }
  STALLSCOPE_EXPECT(given + reader.value().lost().records == reader.value().records());
}

void ReadTensors(data::ByteView bytes) {
  auto reader = data::RawTensorReader::Over(data::OpenMemorySource("fuzz", bytes));
  if (!reader.ok()) return;
  data::Tensor tensor;
  // A file with empty tensors has a record every 64 bytes.
  for (size_t i = 0; i <= bytes.size() / 64 * 1100; ++i) {
    const auto record = reader.value().Next(tensor);
    if (record.ok() && !record.value().has_value()) return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const data::ByteView bytes(data, size);
  data::KindOf(bytes);
  ReadRecords(bytes, 4096);
  ReadTensors(bytes);
  return 0;
}
