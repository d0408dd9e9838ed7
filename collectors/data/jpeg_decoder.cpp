// The only file that decodes with libjpeg. The library reports errors by longjmp, so the functions
// that set a jump (Prepare and Scan) and those that run under one have nothing to destroy.
#include "collectors/data/jpeg_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>

// These need <cstddef> and <cstdio> before them, and each other in this order.
#include <jpeglib.h>

#include <jerror.h>

namespace stallscope::data {

struct JpegSession {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = "";
  size_t failed_at = 0;  // how far the library had read
  size_t size = 0;       // of the JPEG
  int max_scans = 0;
  Buffer row;  // a line as the library gives it, where it cannot go where it belongs
};

namespace {

JpegSession& SessionOf(j_common_ptr jpeg) { return *static_cast<JpegSession*>(jpeg->client_data); }

[[noreturn]] void Fail(JpegSession& session) {
  const size_t rest = session.jpeg.src != nullptr ? session.jpeg.src->bytes_in_buffer : 0;
  session.failed_at = session.size - std::min(rest, session.size);
  std::longjmp(session.jump, 1);
}

[[noreturn]] void OnError(j_common_ptr jpeg) {
  JpegSession& session = SessionOf(jpeg);
  jpeg->err->format_message(jpeg, session.message);
  Fail(session);
}

void OnMessage(j_common_ptr jpeg, int level) {
  if (level >= 0) return;  // a trace
  // Two warnings are about markers whose content does not matter; all others are corrupt data.
  const int code = jpeg->err->msg_code;
  if (code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM) return;
  OnError(jpeg);
}

void Silent(j_common_ptr) {}

// A few hundred bytes can hold thousands of scans, each of which costs a pass over the image.
void LimitScans(j_common_ptr jpeg) {
  JpegSession& session = SessionOf(jpeg);
  if (session.jpeg.input_scan_number <= session.max_scans) return;
  std::snprintf(session.message, sizeof session.message, "more than %d scans", session.max_scans);
  Fail(session);
}

// Reads the header and settles the output's size. False after an error.
bool Prepare(JpegSession& session, ByteView bytes, const JpegDecodeOptions& options) {
  jpeg_decompress_struct& jpeg = session.jpeg;
  session.size = bytes.size();
  session.max_scans = options.limits.max_scans;
  if (setjmp(session.jump) != 0) return false;
  jpeg_mem_src(&jpeg, bytes.data(), bytes.size());
  jpeg_read_header(&jpeg, TRUE);
  const bool four = jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK;
  jpeg.out_color_space = four ? JCS_CMYK : JCS_EXT_RGB;
  jpeg.scale_num = static_cast<unsigned>(options.scale);
  jpeg.scale_denom = 8;
  jpeg_calc_output_dimensions(&jpeg);
  return true;
}

// C, M, Y, K to R, G, B. Files with an Adobe marker hold 255 - ink: Photoshop's way.
void InkToRgb(const uint8_t* from, size_t pixels, bool inverted, uint8_t* to) {
  const unsigned flip = inverted ? 0 : 255;
  for (size_t i = 0; i < pixels; ++i, from += 4, to += 3) {
    const unsigned light = from[3] ^ flip;
    for (int c = 0; c < 3; ++c) {
      to[c] = static_cast<uint8_t>(((from[c] ^ flip) * light + 127) / 255);
    }
  }
}

// What Scan is to do, worked out beforehand.
struct ScanPlan {
  Rect crop;            // in the scaled image
  unsigned band_x = 0;  // the columns that the library is asked for
  unsigned band_width = 0;
  bool direct = false;  // lines go straight into the tensor
};

ScanPlan PlanScan(const jpeg_decompress_struct& jpeg, const std::optional<Rect>& crop) {
  const int width = static_cast<int>(jpeg.output_width);
  const int height = static_cast<int>(jpeg.output_height);
  ScanPlan plan;
  plan.crop = crop.value_or(Rect{0, 0, width, height});
  // The library aligns the band to whole iMCUs on its left. One more on each side: at the edges of
  // a band it lacks the neighbours that it smooths chroma with, and pixels would differ from those
  // of a full decode.
  const int imcu = jpeg.max_h_samp_factor * jpeg.min_DCT_scaled_size;
  const int left = std::max(0, plan.crop.x - imcu);
  const int right = std::min(width, plan.crop.x + plan.crop.width + imcu);
  plan.band_x = static_cast<unsigned>(left);
  plan.band_width = static_cast<unsigned>(right - left);
  plan.direct = plan.crop.width == width && jpeg.out_color_space != JCS_CMYK;
  return plan;
}

// Lines that go straight to where they stay, as many at a time as the library has.
void ScanDirect(jpeg_decompress_struct& jpeg, JDIMENSION end, size_t stride, uint8_t* to) {
  constexpr JDIMENSION kLines = 8;
  JSAMPROW lines[kLines];
  while (jpeg.output_scanline < end) {
    const JDIMENSION wanted = std::min(kLines, end - jpeg.output_scanline);
    for (JDIMENSION i = 0; i < wanted; ++i) lines[i] = to + i * stride;
    to += jpeg_read_scanlines(&jpeg, lines, wanted) * stride;
  }
}

// Decodes the plan's part into `to`. An error jumps out of it: nothing here may own anything.
void ScanLines(JpegSession& session, const ScanPlan& plan, uint8_t* to) {
  jpeg_decompress_struct& jpeg = session.jpeg;
  const auto stride = static_cast<size_t>(plan.crop.width) * 3;
  jpeg_start_decompress(&jpeg);
  JDIMENSION x = plan.band_x;
  JDIMENSION width = plan.band_width;
  if (width < jpeg.output_width) jpeg_crop_scanline(&jpeg, &x, &width);
  const auto skip = static_cast<size_t>(static_cast<unsigned>(plan.crop.x) - x);
  if (plan.crop.y > 0) jpeg_skip_scanlines(&jpeg, static_cast<JDIMENSION>(plan.crop.y));
  const auto end = static_cast<JDIMENSION>(plan.crop.y + plan.crop.height);
  if (plan.direct) ScanDirect(jpeg, end, stride, to);
  while (jpeg.output_scanline < end) {
    JSAMPROW line = session.row.data();
    if (jpeg_read_scanlines(&jpeg, &line, 1) != 1) continue;
    if (jpeg.out_color_space == JCS_CMYK) {
      InkToRgb(session.row.data() + skip * 4, static_cast<size_t>(plan.crop.width),
               jpeg.saw_Adobe_marker != 0, to);
    } else {
      std::memcpy(to, session.row.data() + skip * 3, stride);
    }
    to += stride;
  }
  // Finishing reads on to the end of the image, so that a file cut off behind the last line's
  // data is found; for a crop that would be the work that it saves.
  if (jpeg.output_scanline == jpeg.output_height) jpeg_finish_decompress(&jpeg);
}

// False after an error.
bool Scan(JpegSession& session, const ScanPlan& plan, uint8_t* to) {
  if (setjmp(session.jump) != 0) return false;
  ScanLines(session, plan, to);
  return true;
}

Error Corrupt(const JpegSession& session) {
  return Error{ErrorKind::kRun, fmt::format("the JPEG is corrupt: {}", session.message),
               fmt::format("byte {} of {} of the JPEG", session.failed_at, session.size),
               "write the image again, or set on_error to skip"};
}

Error Unsupported(const JpegHeader& header, const std::string& kind) {
  return Error{ErrorKind::kRun,
               fmt::format("a {} JPEG (SOF{}, {} bits) is not supported", kind, header.sof,
                           header.precision),
               "", "convert it to a baseline or progressive JPEG of 8 bits"};
}

// Everything that can be refused before the library allocates.
Status CheckHeader(const JpegHeader& header, size_t size, const ImageLimits& limits) {
  if (header.lossless()) return Unsupported(header, "lossless");
  if (header.hierarchical()) return Unsupported(header, "hierarchical");
  if (header.precision != 8) return Unsupported(header, fmt::format("{}-bit", header.precision));
#ifndef D_ARITH_CODING_SUPPORTED
  if (header.arithmetic()) return Unsupported(header, "arithmetic-coded");
#endif
  if (header.components == 2 || header.components > 4) {
    return Unsupported(header, fmt::format("{}-component", header.components));
  }
  STALLSCOPE_RETURN_IF_ERROR(CheckImageSize("the JPEG", header.width, header.height, limits));
  // Huffman codes spend at least a bit on each block.
  if (!header.arithmetic() && BlocksOf(header) / 8 > size) {
    return Error{ErrorKind::kRun,
                 fmt::format("the JPEG says that it is {}x{}, which its {} bytes cannot hold",
                             header.width, header.height, size),
                 "", "the file is cut off, or made up: write the image again"};
  }
  return {};
}

}  // namespace

JpegDecoder::JpegDecoder() : session_(std::make_unique<JpegSession>()) {
  JpegSession& session = *session_;
  session.jpeg.err = jpeg_std_error(&session.errors);
  session.errors.error_exit = &OnError;
  session.errors.emit_message = &OnMessage;
  session.errors.output_message = &Silent;
  // Fails only where there is no memory, or where the headers are not the library's.
  if (setjmp(session.jump) != 0) {
    session_.reset();
    return;
  }
  session.jpeg.client_data = &session;
  jpeg_create_decompress(&session.jpeg);
  session.progress.progress_monitor = &LimitScans;
  session.jpeg.progress = &session.progress;
}

JpegDecoder::JpegDecoder(JpegDecoder&&) noexcept = default;

JpegDecoder& JpegDecoder::operator=(JpegDecoder&& other) noexcept {
  session_.swap(other.session_);
  return *this;
}

JpegDecoder::~JpegDecoder() {
  if (session_ != nullptr) jpeg_destroy_decompress(&session_->jpeg);
}

int ScaledDimension(uint32_t dimension, int scale) {
  return static_cast<int>((uint64_t{dimension} * static_cast<uint64_t>(scale) + 7) / 8);
}

Result<JpegHeader> JpegDecoder::Decode(ByteView jpeg, const JpegDecodeOptions& options,
                                       Tensor& into) {
  if (session_ == nullptr) return Error{ErrorKind::kRun, "libjpeg cannot start", "", ""};
  if (options.scale < 1 || options.scale > 8) {
    return Error{ErrorKind::kUsage, fmt::format("a JPEG cannot be scaled by {}/8", options.scale),
                 "", "1/8, 1/4 and 1/2 are worth it"};
  }
  STALLSCOPE_ASSIGN_OR_RETURN(const JpegHeader header, ReadJpegHeader(jpeg));
  STALLSCOPE_RETURN_IF_ERROR(CheckHeader(header, jpeg.size(), options.limits));
  const int width = ScaledDimension(header.width, options.scale);
  const int height = ScaledDimension(header.height, options.scale);
  if (options.crop.has_value() && !Contains(width, height, *options.crop)) {
    const Rect& crop = *options.crop;
    return Error{ErrorKind::kRun,
                 fmt::format("the crop {}x{} at {},{} does not lie in the image of {}x{}",
                             crop.width, crop.height, crop.x, crop.y, width, height),
                 "", "crop less, or resize first"};
  }

  JpegSession& session = *session_;
  jpeg_abort_decompress(&session.jpeg);  // what the image before may have left
  if (!Prepare(session, jpeg, options)) return Corrupt(session);
  // A second frame header could only come from a file made to deceive the walk above.
  if (static_cast<int>(session.jpeg.output_width) != width ||
      static_cast<int>(session.jpeg.output_height) != height) {
    return Error{ErrorKind::kRun, "the JPEG has two sizes", "", "write the image again"};
  }
  const ScanPlan plan = PlanScan(session.jpeg, options.crop);
  if (!into.TryReset(DType::kUint8, {plan.crop.height, plan.crop.width, 3}) ||
      !session.row.TryResize(static_cast<size_t>(width) * 4)) {
    return Error{ErrorKind::kRun, fmt::format("no memory for an image of {}x{}", width, height), "",
                 ""};
  }
  if (!Scan(session, plan, into.data())) return Corrupt(session);
  return header;
}

}  // namespace stallscope::data
