// Looks at a JPEG without decoding it: its size and kind, from the markers before the first scan.
//
// The walk is our own, because the library gives up at the first thing that it cannot decode, and
// then cannot say what it was. Any thread.
#ifndef STALLSCOPE_COLLECTORS_DATA_JPEG_HEADER_H_
#define STALLSCOPE_COLLECTORS_DATA_JPEG_HEADER_H_

#include <array>
#include <cstdint>

#include "analyzer/base/result.h"
#include "collectors/data/buffer.h"

namespace stallscope::data {

struct JpegHeader {
  uint32_t width = 0;
  uint32_t height = 0;
  int components = 0;
  int precision = 8;    // bits a sample
  int sof = 0;          // the number of the SOF marker: 0 baseline, 2 progressive, 3 lossless
  int orientation = 0;  // EXIF's, 1 to 8; 0 where there is none. Never applied
  std::array<uint8_t, 4> h{};  // sampling factors of the first four components
  std::array<uint8_t, 4> v{};

  bool progressive() const { return sof == 2 || sof == 10; }
  bool lossless() const { return sof == 3 || sof == 7 || sof == 11 || sof == 15; }
  bool hierarchical() const { return (sof >= 5 && sof <= 7) || sof >= 13; }
  bool arithmetic() const { return sof >= 9; }
  // A decoder that applies the orientation shows another picture than one that does not.
  bool turned() const { return orientation > 1; }
};

// True where the first bytes are a JPEG's.
bool LooksLikeJpeg(ByteView first_bytes);

Result<JpegHeader> ReadJpegHeader(ByteView jpeg);

// 8x8 blocks in all components.
uint64_t BlocksOf(const JpegHeader& header);

}  // namespace stallscope::data

#endif  // STALLSCOPE_COLLECTORS_DATA_JPEG_HEADER_H_
