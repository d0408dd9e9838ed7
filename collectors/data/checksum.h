// CRC32C as TFRecord files hold it. Any thread.
#ifndef STALLSCOPE_COLLECTORS_DATA_CHECKSUM_H_
#define STALLSCOPE_COLLECTORS_DATA_CHECKSUM_H_

#include <cstdint>

#include "collectors/data/buffer.h"

namespace stallscope::data {

// isa-l picks the instructions that the machine has. `crc` continues an earlier one.
uint32_t Crc32c(ByteView bytes, uint32_t crc = 0);

// Rotated and shifted, as the format wants it, so that the CRC of data that holds CRCs stays good.
constexpr uint32_t MaskCrc(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

}  // namespace stallscope::data

#endif  // STALLSCOPE_COLLECTORS_DATA_CHECKSUM_H_
