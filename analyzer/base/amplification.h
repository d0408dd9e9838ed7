// How much memory a file that somebody else wrote may take.
//
// What comes out of a file is its author's choice: 93 KB of gzip hold 48 million events of two
// bytes each, and a header of 100 bytes can promise 4 GB. So whoever keeps what he reads counts it,
// and stops at a floor plus a multiple of the bytes that lie on the disk. Real traces of some size
// take up to 18 times their packed bytes and 3 times their plain ones; a small file may take what
// it likes.
#ifndef STALLSCOPE_ANALYZER_BASE_AMPLIFICATION_H_
#define STALLSCOPE_ANALYZER_BASE_AMPLIFICATION_H_

#include <cstdint>
#include <limits>

namespace stallscope {

constexpr uint64_t kMemoryFloorBytes = uint64_t{64} << 20;
constexpr uint64_t kMemoryFactor = 48;

// `bytes`: as they lie on the disk, packed where they are packed.
constexpr uint64_t MostMemoryFor(uint64_t bytes) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  return bytes > (kMost - kMemoryFloorBytes) / kMemoryFactor
             ? kMost
             : kMemoryFloorBytes + kMemoryFactor * bytes;
}

}  // namespace stallscope

#endif  // STALLSCOPE_ANALYZER_BASE_AMPLIFICATION_H_
