#include "tests/collectors/data/jpeg_samples.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <jpeglib.h>

namespace stallscope::test {
namespace {

// The line of the picture in the components that the JPEG is given.
std::vector<uint8_t> LineOf(const data::Tensor& picture, int y, JpegColor color) {
  const int width = static_cast<int>(picture.shape()[1]);
  const uint8_t* rgb = picture.data() + static_cast<ptrdiff_t>(y) * width * 3;
  std::vector<uint8_t> line;
  for (int x = 0; x < width; ++x, rgb += 3) {
    switch (color) {
      case JpegColor::kYcc:
      case JpegColor::kRgb:
        line.insert(line.end(), rgb, rgb + 3);
        break;
      case JpegColor::kGray:
        line.push_back(rgb[1]);
        break;
      case JpegColor::kCmykAdobe:  // 255 - ink
      case JpegColor::kYcck:
        line.insert(line.end(), {rgb[0], rgb[1], rgb[2], 255});
        break;
      case JpegColor::kCmykPlain:  // ink
        for (int c = 0; c < 3; ++c) line.push_back(static_cast<uint8_t>(255 - rgb[c]));
        line.push_back(0);
        break;
    }
  }
  return line;
}

void ChooseColor(jpeg_compress_struct& jpeg, JpegColor color) {
  switch (color) {
    case JpegColor::kYcc:
      break;
    case JpegColor::kRgb:
      jpeg_set_colorspace(&jpeg, JCS_RGB);
      break;
    case JpegColor::kGray:
      break;
    case JpegColor::kCmykAdobe:
      jpeg_set_colorspace(&jpeg, JCS_CMYK);
      break;
    case JpegColor::kCmykPlain:
      jpeg_set_colorspace(&jpeg, JCS_CMYK);
      jpeg.write_Adobe_marker = FALSE;
      break;
    case JpegColor::kYcck:
      jpeg_set_colorspace(&jpeg, JCS_YCCK);
      break;
  }
}

}  // namespace

data::Tensor SmoothPicture(int width, int height) {
  data::Tensor picture(data::DType::kUint8, {height, width, 3});
  uint8_t* at = picture.data();
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int edge = x * 3 > width * 2 ? 60 : 0;
      *at++ = static_cast<uint8_t>(20 + 140 * x / width + edge);
      *at++ = static_cast<uint8_t>(30 + 150 * y / height + edge);
      *at++ = static_cast<uint8_t>(180 - 70 * x / width - 60 * y / height + edge);
    }
  }
  return picture;
}

std::string EncodeSample(const JpegSample& sample) {
  const data::Tensor picture = SmoothPicture(sample.width, sample.height);
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);  // ends the test program, as it should
  jpeg_create_compress(&jpeg);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_width = static_cast<JDIMENSION>(sample.width);
  jpeg.image_height = static_cast<JDIMENSION>(sample.height);
  const bool rgb = sample.color == JpegColor::kYcc || sample.color == JpegColor::kRgb;
  const bool gray = sample.color == JpegColor::kGray;
  jpeg.input_components = rgb ? 3 : gray ? 1 : 4;
  jpeg.in_color_space = rgb ? JCS_RGB : gray ? JCS_GRAYSCALE : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  ChooseColor(jpeg, sample.color);
  jpeg_set_quality(&jpeg, sample.quality, TRUE);
  jpeg.comp_info[0].h_samp_factor = gray ? 1 : sample.h;
  jpeg.comp_info[0].v_samp_factor = gray ? 1 : sample.v;
  if (sample.color == JpegColor::kYcck) {
    jpeg.comp_info[3].h_samp_factor = sample.h;
    jpeg.comp_info[3].v_samp_factor = sample.v;
  }
  jpeg.arith_code = sample.arithmetic ? TRUE : FALSE;
  jpeg.restart_in_rows = sample.restart_rows;
  if (sample.progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  if (!sample.exif.empty()) {
    jpeg_write_marker(&jpeg, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(sample.exif.data()),
                      static_cast<unsigned>(sample.exif.size()));
  }
  for (int y = 0; y < sample.height; ++y) {
    std::vector<uint8_t> line = LineOf(picture, y, sample.color);
    JSAMPROW row = line.data();
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::string result(reinterpret_cast<char*>(bytes), size);
  std::free(bytes);
  return result;
}

std::string ExifWithOrientation(int orientation, bool little_endian) {
  const auto put = [&](std::string& to, unsigned value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      const int shift = 8 * (little_endian ? i : bytes - 1 - i);
      to.push_back(static_cast<char>(value >> shift));
    }
  };
  std::string exif("Exif\0\0", 6);
  exif += little_endian ? "II" : "MM";
  put(exif, 42, 2);
  put(exif, 8, 4);
  put(exif, 1, 2);
  put(exif, 0x112, 2);
  put(exif, 3, 2);
  put(exif, 1, 4);
  put(exif, static_cast<unsigned>(orientation), 2);
  put(exif, 0, 2);
  put(exif, 0, 4);
  return exif;
}

}  // namespace stallscope::test
