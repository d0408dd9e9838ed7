// The only file that calls libjpeg.
#include "collectors/data/jpeg.h"

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

// The part of a session that the library reports errors to. They come by longjmp, so the functions
// that set a jump, and those that run under one, have nothing to destroy.
struct JpegErrors {
  jpeg_error_mgr manager{};
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = "";
};

struct JpegSession {
  jpeg_decompress_struct jpeg{};
  JpegErrors errors;
  jpeg_progress_mgr progress{};
  size_t size = 0;  // of the JPEG
  int max_scans = 0;
  Buffer row;  // a line from the library that cannot go straight to its place
};

struct JpegEncodeSession {
  jpeg_compress_struct jpeg{};
  JpegErrors errors;
  jpeg_destination_mgr destination{};
  Buffer* into = nullptr;
};

namespace {

constexpr uint8_t kSoi = 0xd8;
constexpr uint8_t kEoi = 0xd9;
constexpr uint8_t kSos = 0xda;
constexpr uint8_t kApp1 = 0xe1;
constexpr uint8_t kTem = 0x01;

bool IsSof(uint8_t marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}
bool StandsAlone(uint8_t marker) { return marker == kTem || (marker >= 0xd0 && marker <= 0xd7); }

uint32_t Big16(ByteView bytes, size_t at) {
  return static_cast<uint32_t>(bytes[at] << 8 | bytes[at + 1]);
}

// The numbers of a TIFF header, in its own byte order; 0 outside it.
class Tiff {
 public:
  explicit Tiff(ByteView bytes) : bytes_(bytes) { little_ = bytes.size() >= 2 && bytes[0] == 'I'; }
  uint32_t At16(size_t at) const {
    if (at > bytes_.size() || bytes_.size() - at < 2) return 0;
    return little_ ? static_cast<uint32_t>(bytes_[at + 1] << 8 | bytes_[at]) : Big16(bytes_, at);
  }
  uint32_t At32(size_t at) const {
    return little_ ? At16(at + 2) << 16 | At16(at) : At16(at) << 16 | At16(at + 2);
  }

 private:
  ByteView bytes_;
  bool little_ = false;
};

// Tag 0x112 of the first directory; 0 where there is none.
int OrientationOf(ByteView segment) {
  constexpr std::string_view kExif("Exif\0\0", 6);
  if (!AsText(segment).starts_with(kExif)) return 0;
  const Tiff tiff(segment.subspan(kExif.size()));
  const size_t directory = tiff.At32(4);
  const size_t entries = std::min<size_t>(tiff.At16(directory), 64);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + 12 * i;
    if (tiff.At16(entry) != 0x112) continue;
    const uint32_t value = tiff.At16(entry + 8);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 0;
  }
  return 0;
}

Error Broken(const char* what, size_t at) {
  return Error{ErrorKind::kRun, what, "byte " + std::to_string(at) + " of the JPEG",
               "write the image again"};
}

Result<JpegHeader> ReadSof(uint8_t marker, ByteView segment, JpegHeader header, size_t at) {
  if (segment.size() < 6) return Broken("the JPEG's frame header is truncated", at);
  header.sof = marker - 0xc0;
  header.precision = segment[0];
  header.height = Big16(segment, 1);
  header.width = Big16(segment, 3);
  header.components = segment[5];
  if (header.components == 0 || segment.size() < 6 + 3 * size_t{segment[5]}) {
    return Broken("the JPEG's frame header is truncated", at);
  }
  for (size_t i = 0; i < std::min<size_t>(segment[5], 4); ++i) {
    const uint8_t factors = segment[6 + 3 * i + 1];
    header.h[i] = factors >> 4;
    header.v[i] = factors & 15;
    if (header.h[i] < 1 || header.h[i] > 4 || header.v[i] < 1 || header.v[i] > 4) {
      return Broken("the JPEG's sampling factors are impossible", at);
    }
  }
  return header;
}

template <class Session, class Library>
Session& SessionOf(Library* jpeg) {
  return *static_cast<Session*>(jpeg->client_data);
}

// The manager is the first member of a session's errors.
[[noreturn]] void OnError(j_common_ptr jpeg) {
  auto& errors = *reinterpret_cast<JpegErrors*>(jpeg->err);
  jpeg->err->format_message(jpeg, errors.message);
  std::longjmp(errors.jump, 1);
}
void Silent(j_common_ptr) {}
void NoWarning(j_common_ptr, int) {}

template <class Session>
void Connect(Session& session, void (*on_message)(j_common_ptr, int)) {
  session.jpeg.err = jpeg_std_error(&session.errors.manager);
  session.errors.manager.error_exit = &OnError;
  session.errors.manager.emit_message = on_message;
  session.errors.manager.output_message = &Silent;
  session.jpeg.client_data = &session;
}

void OnMessage(j_common_ptr jpeg, int level) {
  if (level >= 0) return;  // a trace
  // Two warnings are about markers whose content does not matter; all others are corrupt data.
  const int code = jpeg->err->msg_code;
  if (code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM) return;
  OnError(jpeg);
}

// A few hundred bytes can hold thousands of scans, each of which costs a pass over the image.
void LimitScans(j_common_ptr jpeg) {
  auto& session = SessionOf<JpegSession>(jpeg);
  if (session.jpeg.input_scan_number <= session.max_scans) return;
  JpegErrors& errors = session.errors;
  std::snprintf(errors.message, sizeof errors.message, "more than %d scans", session.max_scans);
  std::longjmp(errors.jump, 1);
}

// Reads the header and determines the output's size. False after an error.
bool Prepare(JpegSession& session, ByteView bytes, const JpegDecodeOptions& options) {
  jpeg_decompress_struct& jpeg = session.jpeg;
  session.size = bytes.size();
  session.max_scans = options.limits.max_scans;
  if (setjmp(session.errors.jump) != 0) return false;
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

// What Scan will do, computed beforehand.
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
  // a band it lacks the neighbors that it smooths chroma with, and pixels would differ from those
  // of a full decode.
  const int imcu = jpeg.max_h_samp_factor * jpeg.min_DCT_scaled_size;
  const int left = std::max(0, plan.crop.x - imcu);
  const int right = std::min(width, plan.crop.x + plan.crop.width + imcu);
  plan.band_x = static_cast<unsigned>(left);
  plan.band_width = static_cast<unsigned>(right - left);
  plan.direct = plan.crop.width == width && jpeg.out_color_space != JCS_CMYK;
  return plan;
}

// Decodes lines straight to their places, as many at a time as the library has.
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
  // Finishing reads on to the end of the image, which detects a file truncated after the last
  // line's data; for a crop that would be the work that it saves.
  if (jpeg.output_scanline == jpeg.output_height) jpeg_finish_decompress(&jpeg);
}

// False after an error.
bool Scan(JpegSession& session, const ScanPlan& plan, uint8_t* to) {
  if (setjmp(session.errors.jump) != 0) return false;
  ScanLines(session, plan, to);
  return true;
}

Error Corrupt(const JpegSession& session) {
  const size_t rest = session.jpeg.src != nullptr ? session.jpeg.src->bytes_in_buffer : 0;
  const size_t failed_at = session.size - std::min(rest, session.size);
  return Error{ErrorKind::kRun, fmt::format("the JPEG is corrupt: {}", session.errors.message),
               fmt::format("byte {} of {} of the JPEG", failed_at, session.size),
               "write the image again, or set on_error to skip"};
}

Error Unsupported(const JpegHeader& header, const std::string& kind) {
  return Error{ErrorKind::kRun,
               fmt::format("a {} JPEG (SOF{}, {} bits) is not supported", kind, header.sof,
                           header.precision),
               "", "convert it to an 8-bit baseline or progressive JPEG"};
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
  // Huffman coding spends at least a bit on each block.
  if (!header.arithmetic() && BlocksOf(header) / 8 > size) {
    return TooFewBytes("the JPEG", header.width, header.height, size);
  }
  return {};
}

// The library's own memory destination would own the bytes, unaligned.
void Begin(j_compress_ptr jpeg) {
  Buffer& into = *SessionOf<JpegEncodeSession>(jpeg).into;
  if (!into.TryResize(std::max<size_t>(into.capacity(), 65536)))
    ERREXIT1(jpeg, JERR_OUT_OF_MEMORY, 0);
  jpeg->dest->next_output_byte = into.data();
  jpeg->dest->free_in_buffer = into.size();
}

// Called when all bytes are used, whatever free_in_buffer says.
boolean Grow(j_compress_ptr jpeg) {
  Buffer& into = *SessionOf<JpegEncodeSession>(jpeg).into;
  const size_t taken = into.size();
  if (!into.TryResize(taken * 2)) ERREXIT1(jpeg, JERR_OUT_OF_MEMORY, 0);
  jpeg->dest->next_output_byte = into.data() + taken;
  jpeg->dest->free_in_buffer = into.size() - taken;
  return TRUE;
}

void End(j_compress_ptr jpeg) {
  Buffer& into = *SessionOf<JpegEncodeSession>(jpeg).into;
  into.Resize(into.size() - jpeg->dest->free_in_buffer);
}

bool Compress(JpegEncodeSession& session, const Tensor& image, const JpegEncodeOptions& options) {
  jpeg_compress_struct& jpeg = session.jpeg;
  const auto components = static_cast<int>(image.shape()[2]);
  const size_t stride = static_cast<size_t>(image.shape()[1] * components);
  if (setjmp(session.errors.jump) != 0) return false;
  jpeg.image_height = static_cast<JDIMENSION>(image.shape()[0]);
  jpeg.image_width = static_cast<JDIMENSION>(image.shape()[1]);
  jpeg.input_components = components;
  jpeg.in_color_space = components == 3 ? JCS_EXT_RGB : JCS_GRAYSCALE;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, options.quality, TRUE);
  jpeg.dct_method = JDCT_ISLOW;
  if (components == 3 && !options.halve_chroma) {
    jpeg.comp_info[0].h_samp_factor = 1;
    jpeg.comp_info[0].v_samp_factor = 1;
  }
  if (options.progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW line = const_cast<uint8_t*>(image.data()) + jpeg.next_scanline * stride;
    jpeg_write_scanlines(&jpeg, &line, 1);
  }
  jpeg_finish_compress(&jpeg);
  return true;
}

}  // namespace

bool LooksLikeJpeg(ByteView first_bytes) {
  return first_bytes.size() >= 3 && first_bytes[0] == 0xff && first_bytes[1] == kSoi &&
         first_bytes[2] == 0xff;
}

Result<JpegHeader> ReadJpegHeader(ByteView jpeg) {
  if (!LooksLikeJpeg(jpeg)) return Broken("not a JPEG", 0);
  JpegHeader header;
  size_t at = 2;
  for (;;) {
    // Markers may be padded with any number of 0xff; other bytes between segments are skipped, as
    // the library does (which warns about them when it decodes).
    while (at < jpeg.size() && jpeg[at] != 0xff) ++at;
    while (at < jpeg.size() && jpeg[at] == 0xff) ++at;
    if (at >= jpeg.size()) return Broken("the JPEG ends before its frame header", jpeg.size());
    const uint8_t marker = jpeg[at++];
    if (marker == 0 || StandsAlone(marker)) continue;
    if (marker == kSos || marker == kEoi) return Broken("the JPEG has no frame header", at - 1);
    if (jpeg.size() - at < 2) return Broken("the JPEG ends before its frame header", jpeg.size());
    const size_t length = Big16(jpeg, at);
    if (length < 2 || length > jpeg.size() - at) {
      return Broken("a segment of the JPEG is truncated", at - 1);
    }
    const ByteView segment = jpeg.subspan(at + 2, length - 2);
    if (IsSof(marker)) return ReadSof(marker, segment, header, at - 1);
    if (marker == kApp1 && header.orientation == 0) header.orientation = OrientationOf(segment);
    at += length;
  }
}

uint64_t BlocksOf(const JpegHeader& header) {
  const auto count = static_cast<size_t>(std::clamp(header.components, 1, 4));
  uint64_t h_max = 1;
  uint64_t v_max = 1;
  for (size_t i = 0; i < count; ++i) {
    h_max = std::max<uint64_t>(h_max, header.h[i]);
    v_max = std::max<uint64_t>(v_max, header.v[i]);
  }
  uint64_t blocks = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t across = (header.width * uint64_t{header.h[i]} + 8 * h_max - 1) / (8 * h_max);
    const uint64_t down = (header.height * uint64_t{header.v[i]} + 8 * v_max - 1) / (8 * v_max);
    blocks += across * down;
  }
  return blocks;
}

JpegDecoder::JpegDecoder() : session_(std::make_unique<JpegSession>()) {
  JpegSession& session = *session_;
  Connect(session, &OnMessage);
  // Fails only without memory, or if the headers do not match the library.
  if (setjmp(session.errors.jump) != 0) {
    session_.reset();
    return;
  }
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
                 "", "use 1/8, 1/4 or 1/2"};
  }
  STALLSCOPE_ASSIGN_OR_RETURN(const JpegHeader header, ReadJpegHeader(jpeg));
  STALLSCOPE_RETURN_IF_ERROR(CheckHeader(header, jpeg.size(), options.limits));
  const int width = ScaledDimension(header.width, options.scale);
  const int height = ScaledDimension(header.height, options.scale);
  if (options.crop.has_value()) {
    STALLSCOPE_RETURN_IF_ERROR(CheckCrop(width, height, *options.crop));
  }

  JpegSession& session = *session_;
  jpeg_abort_decompress(&session.jpeg);  // what the previous image may have left
  if (!Prepare(session, jpeg, options)) return Corrupt(session);
  // A second frame header could only come from a file made to deceive the walk above.
  if (static_cast<int>(session.jpeg.output_width) != width ||
      static_cast<int>(session.jpeg.output_height) != height) {
    return Error{ErrorKind::kRun, "the JPEG declares two sizes", "", "write the image again"};
  }
  const ScanPlan plan = PlanScan(session.jpeg, options.crop);
  if (!into.TryReset(DType::kUint8, {plan.crop.height, plan.crop.width, 3}) ||
      !session.row.TryResize(static_cast<size_t>(width) * 4)) {
    return Error{ErrorKind::kRun, fmt::format("out of memory for an image of {}x{}", width, height),
                 "", ""};
  }
  if (!Scan(session, plan, into.data())) return Corrupt(session);
  return header;
}

JpegEncoder::JpegEncoder() : session_(std::make_unique<JpegEncodeSession>()) {
  JpegEncodeSession& session = *session_;
  Connect(session, &NoWarning);
  if (setjmp(session.errors.jump) != 0) {
    session_.reset();
    return;
  }
  jpeg_create_compress(&session.jpeg);
  session.destination.init_destination = &Begin;
  session.destination.empty_output_buffer = &Grow;
  session.destination.term_destination = &End;
  session.jpeg.dest = &session.destination;
}

JpegEncoder::JpegEncoder(JpegEncoder&&) noexcept = default;

JpegEncoder& JpegEncoder::operator=(JpegEncoder&& other) noexcept {
  session_.swap(other.session_);
  return *this;
}

JpegEncoder::~JpegEncoder() {
  if (session_ != nullptr) jpeg_destroy_compress(&session_->jpeg);
}

Status JpegEncoder::Encode(const Tensor& image, const JpegEncodeOptions& options, Buffer& into) {
  if (session_ == nullptr) return Error{ErrorKind::kRun, "libjpeg cannot start", "", ""};
  STALLSCOPE_RETURN_IF_ERROR(CheckEncodable(image, JPEG_MAX_DIMENSION, "JPEG"));
  session_->into = &into;
  const bool done = Compress(*session_, image, options);
  session_->into = nullptr;
  if (done) return {};
  jpeg_abort_compress(&session_->jpeg);
  return Error{ErrorKind::kRun, std::string("libjpeg cannot encode: ") + session_->errors.message,
               "", ""};
}

}  // namespace stallscope::data
