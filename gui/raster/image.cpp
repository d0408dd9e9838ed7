// The room's only file that calls libpng. It reports errors by longjmp, so the function that sets
// the jump owns nothing with a destructor.
#include "gui/raster/image.h"

#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <new>

namespace stallscope::raster {
namespace {

struct Session {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf jump;
  char message[160] = "";
  std::string bytes;
  std::vector<uint8_t> row;
};

[[noreturn]] void OnError(png_structp png, png_const_charp message) {
  auto& session = *static_cast<Session*>(png_get_error_ptr(png));
  std::snprintf(session.message, sizeof session.message, "%s", message);
  std::longjmp(session.jump, 1);
}

void OnWarning(png_structp, png_const_charp) {}

void Write(png_structp png, png_bytep bytes, size_t size) {
  auto& session = *static_cast<Session*>(png_get_io_ptr(png));
  bool kept = true;
  try {
    session.bytes.append(reinterpret_cast<const char*>(bytes), size);
  } catch (const std::bad_alloc&) {
    kept = false;  // nothing may be thrown through the library
  }
  if (!kept) png_error(png, "out of memory");
}

void Flush(png_structp) {}

bool WriteAll(Session& session, const Image& image) {
  if (setjmp(session.jump) != 0) return false;
  session.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &session, &OnError, &OnWarning);
  if (session.png == nullptr) return false;
  session.info = png_create_info_struct(session.png);
  if (session.info == nullptr) return false;
  png_set_write_fn(session.png, &session, &Write, &Flush);
  png_set_IHDR(session.png, session.info, static_cast<png_uint_32>(image.width),
               static_cast<png_uint_32>(image.height), 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(session.png, session.info);
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const uint32_t pixel = image.At(x, y);
      const auto at = static_cast<size_t>(x) * 3;
      session.row[at] = static_cast<uint8_t>(pixel);
      session.row[at + 1] = static_cast<uint8_t>(pixel >> 8);
      session.row[at + 2] = static_cast<uint8_t>(pixel >> 16);
    }
    png_write_row(session.png, session.row.data());
  }
  png_write_end(session.png, nullptr);
  return true;
}

}  // namespace

Result<std::string> EncodePng(const Image& image) {
  Session session;
  session.row.resize(static_cast<size_t>(image.width) * 3);
  const bool written = WriteAll(session, image);
  png_destroy_write_struct(&session.png, &session.info);
  if (!written) {
    return Error{ErrorKind::kRun, std::string("cannot encode the picture: ") + session.message, "",
                 "free some memory or export a smaller picture"};
  }
  return std::move(session.bytes);
}

}  // namespace stallscope::raster
