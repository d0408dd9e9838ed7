#include "tests/bench/bare_loop.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

// These need <cstddef> and <cstdio> before them.
#include <jpeglib.h>
#include <libyuv.h>

#include "collectors/data/image.h"

namespace stallscope::bench {

struct BareLoop::State {
  PixelBytes pixel_bytes;
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  std::vector<JSAMPROW> rows;
  data::Buffer pixels;
  data::Buffer part;    // its pixels as four bytes, if they have three
  data::Buffer scaled;  // of four bytes
  data::Buffer square;  // of three
  data::Buffer normal;
  data::NormalizeBy by = data::ImageNetNormalization();
};

BareLoop::BareLoop(PixelBytes pixel_bytes) : state_(std::make_unique<State>()) {
  state_->pixel_bytes = pixel_bytes;
  state_->jpeg.err = jpeg_std_error(&state_->errors);  // ends the program
  jpeg_create_decompress(&state_->jpeg);
}

BareLoop::~BareLoop() { jpeg_destroy_decompress(&state_->jpeg); }

const float* BareLoop::Run(data::ByteView jpeg, const data::Rect& part, int side) {
  State& s = *state_;
  const bool four = s.pixel_bytes == PixelBytes::kFour;
  jpeg_mem_src(&s.jpeg, jpeg.data(), jpeg.size());
  jpeg_read_header(&s.jpeg, TRUE);
  s.jpeg.out_color_space = four ? JCS_EXT_RGBX : JCS_EXT_RGB;
  jpeg_start_decompress(&s.jpeg);
  const size_t stride = s.jpeg.output_width * static_cast<size_t>(s.pixel_bytes);
  s.pixels.Resize(stride * s.jpeg.output_height);
  s.rows.resize(s.jpeg.output_height);
  for (size_t y = 0; y < s.rows.size(); ++y) s.rows[y] = s.pixels.data() + y * stride;
  while (s.jpeg.output_scanline < s.jpeg.output_height) {
    jpeg_read_scanlines(&s.jpeg, s.rows.data() + s.jpeg.output_scanline,
                        s.jpeg.output_height - s.jpeg.output_scanline);
  }
  jpeg_finish_decompress(&s.jpeg);

  const auto pixels = static_cast<size_t>(side) * static_cast<size_t>(side);
  s.scaled.Resize(pixels * 4);
  s.square.Resize(pixels * 3);
  s.normal.Resize(pixels * 3 * sizeof(float));
  const uint8_t* from = s.pixels.data() + static_cast<size_t>(part.y) * stride +
                        static_cast<size_t>(part.x) * static_cast<size_t>(s.pixel_bytes);
  int from_stride = static_cast<int>(stride);
  if (!four) {
    s.part.Resize(static_cast<size_t>(part.width) * static_cast<size_t>(part.height) * 4);
    libyuv::RGB24ToARGB(from, from_stride, s.part.data(), part.width * 4, part.width, part.height);
    from = s.part.data();
    from_stride = part.width * 4;
  }
  libyuv::ARGBScale(from, from_stride, part.width, part.height, s.scaled.data(), side * 4, side,
                    side, libyuv::kFilterBilinear);
  libyuv::ARGBToRGB24(s.scaled.data(), side * 4, s.square.data(), side * 3, side, side);
  auto* const normal = reinterpret_cast<float*>(s.normal.data());
  data::NormalizeValues(s.square.data(), pixels * 3, s.by, normal);
  return normal;
}

}  // namespace stallscope::bench
