// Encodes RGB to JPEG: for the generator, and for an augmented data set written once.
//
// The same pixels give the same bytes on every machine: the slow integer DCT is exact. One object a
// thread, reused.
#ifndef STALLSCOPE_COLLECTORS_DATA_JPEG_ENCODER_H_
#define STALLSCOPE_COLLECTORS_DATA_JPEG_ENCODER_H_

#include <memory>

#include "analyzer/base/result.h"
#include "collectors/data/buffer.h"
#include "collectors/data/tensor.h"

namespace stallscope::data {

struct JpegEncodeOptions {
  int quality = 90;          // 1 to 100
  bool halve_chroma = true;  // 4:2:0, as cameras and ImageNet have it; else 4:4:4
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

#endif  // STALLSCOPE_COLLECTORS_DATA_JPEG_ENCODER_H_
