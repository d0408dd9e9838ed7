// The only file that calls libpng. It reports errors by longjmp, so the functions that set a jump
// have nothing to destroy.
#include "collectors/data/png.h"

#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <string>

namespace stallscope::data {
namespace {

constexpr std::string_view kSignature("\x89PNG\r\n\x1a\n", 8);
constexpr size_t kHeaderEnd = 8 + 8 + 8;  // signature, IHDR's length and name, width and height

struct Session {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf jump;
  char message[160] = "";
  ByteView bytes;          // read from
  size_t at = 0;           // how far
  Buffer* into = nullptr;  // written to
};

[[noreturn]] void OnError(png_structp png, png_const_charp message) {
  auto& session = *static_cast<Session*>(png_get_error_ptr(png));
  std::snprintf(session.message, sizeof session.message, "%s", message);
  std::longjmp(session.jump, 1);
}

// Odd chunks do not harm the image; libpng would print about them.
void OnWarning(png_structp, png_const_charp) {}

void Read(png_structp png, png_bytep into, size_t size) {
  auto& session = *static_cast<Session*>(png_get_io_ptr(png));
  if (size > session.bytes.size() - session.at) png_error(png, "the file ends too early");
  std::memcpy(into, session.bytes.data() + session.at, size);
  session.at += size;
}

void Write(png_structp png, png_bytep bytes, size_t size) {
  auto& session = *static_cast<Session*>(png_get_io_ptr(png));
  const size_t end = session.into->size();
  if (size > session.into->capacity() - end &&
      !session.into->TryReserve(std::max(end + size, session.into->capacity() * 2))) {
    png_error(png, "no memory");
  }
  // Fits now, so nothing is thrown through the library.
  session.into->Append({bytes, size});
}
void Flush(png_structp) {}

bool Start(Session& session, const ImageLimits& limits) {
  if (setjmp(session.jump) != 0) return false;
  session.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &session, &OnError, &OnWarning);
  if (session.png == nullptr) return false;
  session.info = png_create_info_struct(session.png);
  if (session.info == nullptr) return false;
  png_set_read_fn(session.png, &session, &Read);
  png_set_user_limits(session.png, limits.max_dimension, limits.max_dimension);
  png_set_chunk_malloc_max(session.png, 8u << 20);
  png_set_chunk_cache_max(session.png, 1000);
  png_read_info(session.png, session.info);
  png_set_expand(session.png);
  png_set_strip_16(session.png);
  png_set_strip_alpha(session.png);
  png_set_gray_to_rgb(session.png);
  png_set_interlace_handling(session.png);
  png_read_update_info(session.png, session.info);
  return true;
}

bool ReadRows(Session& session, uint8_t* to, uint32_t height, size_t stride) {
  if (setjmp(session.jump) != 0) return false;
  const int passes =
      png_get_interlace_type(session.png, session.info) == PNG_INTERLACE_NONE ? 1 : 7;
  for (int pass = 0; pass < passes; ++pass) {
    for (uint32_t y = 0; y < height; ++y) png_read_row(session.png, to + y * stride, nullptr);
  }
  png_read_end(session.png, nullptr);
  return true;
}

bool WriteImage(Session& session, const Tensor& image) {
  if (setjmp(session.jump) != 0) return false;
  session.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &session, &OnError, &OnWarning);
  if (session.png == nullptr) return false;
  session.info = png_create_info_struct(session.png);
  if (session.info == nullptr) return false;
  png_set_write_fn(session.png, &session, &Write, &Flush);
  const auto height = static_cast<uint32_t>(image.shape()[0]);
  const auto width = static_cast<uint32_t>(image.shape()[1]);
  const bool gray = image.shape()[2] == 1;
  png_set_IHDR(session.png, session.info, width, height, 8,
               gray ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(session.png, session.info);
  const size_t stride = size_t{width} * (gray ? 1 : 3);
  for (uint32_t y = 0; y < height; ++y) png_write_row(session.png, image.data() + y * stride);
  png_write_end(session.png, session.info);
  return true;
}

Error Broken(const Session& session, const char* what) {
  return Error{ErrorKind::kRun, fmt::format("{}: {}", what, session.message),
               fmt::format("byte {} of {} of the PNG", session.at, session.bytes.size()),
               "write the image again, or set on_error to skip"};
}

Status DecodeInto(Session& session, const PngHeader& header, const ImageLimits& limits,
                  Tensor& into) {
  if (!Start(session, limits)) return Broken(session, "the PNG is corrupt");
  const size_t stride = size_t{header.width} * 3;
  if (png_get_rowbytes(session.png, session.info) != stride ||
      png_get_image_height(session.png, session.info) != header.height) {
    return Broken(session, "the PNG cannot be converted to RGB");
  }
  if (!into.TryReset(DType::kUint8, {header.height, header.width, 3})) {
    return Error{ErrorKind::kRun, "out of memory for the image", "", ""};
  }
  if (!ReadRows(session, into.data(), header.height, stride)) {
    return Broken(session, "the PNG is corrupt");
  }
  return {};
}

}  // namespace

bool LooksLikePng(ByteView first_bytes) { return AsText(first_bytes).starts_with(kSignature); }

Result<PngHeader> ReadPngHeader(ByteView png) {
  if (!LooksLikePng(png) || png.size() < kHeaderEnd || AsText(png).substr(12, 4) != "IHDR") {
    return Error{ErrorKind::kRun, LooksLikePng(png) ? "the PNG's header is truncated" : "not a PNG",
                 "byte 0 of the PNG", "write the image again"};
  }
  const auto big32 = [&](size_t at) {
    return uint32_t{png[at]} << 24 | uint32_t{png[at + 1]} << 16 | uint32_t{png[at + 2]} << 8 |
           uint32_t{png[at + 3]};
  };
  return PngHeader{big32(16), big32(20)};
}

Status DecodePng(ByteView png, const ImageLimits& limits, Tensor& into) {
  STALLSCOPE_ASSIGN_OR_RETURN(const PngHeader header, ReadPngHeader(png));
  STALLSCOPE_RETURN_IF_ERROR(CheckImageSize("the PNG", header.width, header.height, limits));
  // Deflate compresses 1032 to 1 at best, and a row has at least one bit per pixel and a filter
  // byte.
  const uint64_t least = (uint64_t{header.width} + 7) / 8 * header.height + header.height;
  if (least / 1032 > png.size()) {
    return TooFewBytes("the PNG", header.width, header.height, png.size());
  }
  Session session;
  session.bytes = png;
  Status decoded = DecodeInto(session, header, limits, into);
  png_destroy_read_struct(&session.png, &session.info, nullptr);
  return decoded;
}

Status EncodePng(const Tensor& image, Buffer& into) {
  STALLSCOPE_RETURN_IF_ERROR(CheckEncodable(image, 1'000'000, "PNG"));
  Session session;
  into.Clear();
  session.into = &into;
  const bool done = WriteImage(session, image);
  png_destroy_write_struct(&session.png, &session.info);
  if (!done) return Error{ErrorKind::kRun, std::string("libpng: ") + session.message, "", ""};
  return {};
}

}  // namespace stallscope::data
