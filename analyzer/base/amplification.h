// How much memory a foreign file may take.
//
// What a file expands to is its author's choice: 93 KB of gzip can hold 48 million events of two
// bytes each, and a header of 100 bytes can claim 4 GB. So every reader counts what it keeps, and
// stops at a floor plus a multiple of the bytes on disk. Large real traces take up to 18 times
// their packed bytes and 3 times their plain ones; small files are exempt.
#pragma once

#include <cstdint>
#include <limits>

namespace stallscope {

constexpr uint64_t kMemoryFloorBytes = uint64_t{64} << 20;
constexpr uint64_t kMemoryFactor = 48;

// `bytes`: the size on disk, packed if packed.
constexpr uint64_t MostMemoryFor(uint64_t bytes) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  return bytes > (kMost - kMemoryFloorBytes) / kMemoryFactor
             ? kMost
             : kMemoryFloorBytes + kMemoryFactor * bytes;
}

}  // namespace stallscope
