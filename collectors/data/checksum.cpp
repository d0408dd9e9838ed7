#include "collectors/data/checksum.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace stallscope::data {

uint32_t Crc32c(ByteView bytes, uint32_t crc) {
  // isa-l takes and gives the register as it is (CRC32C inverts it at both ends), and counts in
  // int.
  constexpr size_t kPiece = size_t{1} << 30;
  uint32_t state = ~crc;
  while (!bytes.empty()) {
    const size_t size = std::min(bytes.size(), kPiece);
    state = crc32_iscsi(const_cast<uint8_t*>(bytes.data()), static_cast<int>(size), state);
    bytes = bytes.subspan(size);
  }
  return ~state;
}

}  // namespace stallscope::data
