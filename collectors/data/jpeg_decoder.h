// Decodes JPEG to RGB: baseline, progressive and arithmetic; grayscale, YCbCr, RGB, CMYK and YCCK.
//
// What libjpeg-turbo cannot decode (lossless, 12 bits, hierarchical) is an error that names it. So
// is every image whose data is corrupt: the library would warn and go on with gray blocks. Limits
// hold before memory is spent, and a header whose blocks its bytes cannot possibly hold is refused
// as cut off. EXIF's orientation is not applied; the header that Decode gives back tells it.
//
// One object a thread, reused: it keeps the library's tables and its row buffer.
#ifndef STALLSCOPE_COLLECTORS_DATA_JPEG_DECODER_H_
#define STALLSCOPE_COLLECTORS_DATA_JPEG_DECODER_H_

#include <memory>
#include <optional>

#include "analyzer/base/result.h"
#include "collectors/data/buffer.h"
#include "collectors/data/image_limits.h"
#include "collectors/data/jpeg_header.h"
#include "collectors/data/tensor.h"

namespace stallscope::data {

struct JpegDecodeOptions {
  // Decode at scale/8 of the size, in the inverse DCT: 1 to 8. 4, 2 and 1 are faster than 8;
  // the others are not.
  int scale = 8;
  // Only this part, in pixels of the scaled image: rows before it are entropy-decoded and dropped,
  // rows behind it not read at all (nor their damage seen). The pixels are those of a full decode.
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

  // Gives `into` the shape height x width x 3 of uint8. The error's `where` is a place in the
  // JPEG; see Locate in origin.h. After an error `into` holds anything.
  Result<JpegHeader> Decode(ByteView jpeg, const JpegDecodeOptions& options, Tensor& into);

 private:
  std::unique_ptr<JpegSession> session_;
};

// The size of an image at scale/8.
int ScaledDimension(uint32_t dimension, int scale);

}  // namespace stallscope::data

#endif  // STALLSCOPE_COLLECTORS_DATA_JPEG_DECODER_H_
