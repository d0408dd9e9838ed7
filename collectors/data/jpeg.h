// JPEG: a look at the header, a decoder, an encoder.
//
// The decoder gives RGB from baseline, progressive and arithmetic coding; from grayscale, YCbCr,
// RGB, CMYK and YCCK. What libjpeg-turbo cannot decode (lossless, 12 bits, hierarchical) is an
// error that names it: the walk over the markers is our own, because the library gives up at the
// first thing that it cannot decode and cannot say what it was. Corrupt data is an error too: the
// library would warn and continue with gray blocks. Limits hold before memory is spent, and a
// header whose blocks cannot fit into the file's bytes is refused as truncated. EXIF's orientation
// is not applied; the header that Decode returns has it.
//
// The encoder gives the same bytes for the same pixels on every machine: the slow integer DCT is
// exact. Decoders and encoders keep the library's tables: one object per thread, reused.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "analyzer/base/result.h"
#include "collectors/data/buffer.h"
#include "collectors/data/image.h"
#include "collectors/data/tensor.h"

namespace stallscope::data {

struct JpegHeader {
  uint32_t width = 0;
  uint32_t height = 0;
  int components = 0;
  int precision = 8;    // bits per sample
  int sof = 0;          // the number of the SOF marker: 0 baseline, 2 progressive, 3 lossless
  int orientation = 0;  // EXIF's, 1 to 8; 0 where there is none. Never applied
  std::array<uint8_t, 4> h{};  // sampling factors of the first four components
  std::array<uint8_t, 4> v{};

  bool progressive() const { return sof == 2 || sof == 10; }
  bool lossless() const { return sof == 3 || sof == 7 || sof == 11 || sof == 15; }
  bool hierarchical() const { return (sof >= 5 && sof <= 7) || sof >= 13; }
  bool arithmetic() const { return sof >= 9; }
  // A decoder that applies the orientation gives a different picture from one that does not.
  bool turned() const { return orientation > 1; }
};

// True where the first bytes are a JPEG's.
bool LooksLikeJpeg(ByteView first_bytes);

Result<JpegHeader> ReadJpegHeader(ByteView jpeg);

// 8x8 blocks in all components.
uint64_t BlocksOf(const JpegHeader& header);

struct JpegDecodeOptions {
  // Decode at scale/8 of the size, in the inverse DCT: 1 to 8. 4, 2 and 1 are faster than 8;
  // the others are not.
  int scale = 8;
  // Only this part, in pixels of the scaled image: rows before it are entropy-decoded and dropped,
  // rows after it not read at all (damage there goes unseen). The pixels are those of a full
  // decode.
  std::optional<Rect> crop = {};
  ImageLimits limits = {};
};

struct JpegSession;  // the library's state

class JpegDecoder {
 public:
  JpegDecoder();
  JpegDecoder(JpegDecoder&&) noexcept;
  JpegDecoder& operator=(JpegDecoder&&) noexcept;
  ~JpegDecoder();

  // Gives `into` the shape height x width x 3 of uint8. The error's `where` is a place in the JPEG;
  // see Locate in byte_source.h. After an error `into` is undefined.
  Result<JpegHeader> Decode(ByteView jpeg, const JpegDecodeOptions& options, Tensor& into);

 private:
  std::unique_ptr<JpegSession> session_;
};

// The size of an image at scale/8.
int ScaledDimension(uint32_t dimension, int scale);

struct JpegEncodeOptions {
  int quality = 90;          // 1 to 100
  bool halve_chroma = true;  // 4:2:0, as in cameras and ImageNet; else 4:4:4
  bool progressive = false;
};

struct JpegEncodeSession;

class JpegEncoder {
 public:
  JpegEncoder();
  JpegEncoder(JpegEncoder&&) noexcept;
  JpegEncoder& operator=(JpegEncoder&&) noexcept;
  ~JpegEncoder();

  // `image` is height x width x 3 (or x 1, grayscale) of uint8. Replaces what `into` holds.
  Status Encode(const Tensor& image, const JpegEncodeOptions& options, Buffer& into);

 private:
  std::unique_ptr<JpegEncodeSession> session_;
};

}  // namespace stallscope::data
