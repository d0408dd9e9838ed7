// The only file that encodes with libjpeg; what jpeg_decoder.cpp says about jumps holds here too.
#include "collectors/data/jpeg_encoder.h"

#include <algorithm>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <string>

// These need <cstddef> and <cstdio> before them, and each other in this order.
#include <jpeglib.h>

#include <jerror.h>

namespace stallscope::data {

struct JpegEncodeSession {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg_destination_mgr destination{};
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX] = "";
  Buffer* into = nullptr;
};

namespace {

JpegEncodeSession& SessionOf(void* client_data) {
  return *static_cast<JpegEncodeSession*>(client_data);
}

[[noreturn]] void OnEncodeError(j_common_ptr jpeg) {
  JpegEncodeSession& session = SessionOf(jpeg->client_data);
  jpeg->err->format_message(jpeg, session.message);
  std::longjmp(session.jump, 1);
}
void NoMessage(j_common_ptr) {}
void NoWarning(j_common_ptr, int) {}

// The library's own memory destination would own the bytes, and align them nowhere.
void Begin(j_compress_ptr jpeg) {
  Buffer& into = *SessionOf(jpeg->client_data).into;
  if (!into.TryResize(std::max<size_t>(into.capacity(), 65536)))
    ERREXIT1(jpeg, JERR_OUT_OF_MEMORY, 0);
  jpeg->dest->next_output_byte = into.data();
  jpeg->dest->free_in_buffer = into.size();
}

// Called when every byte is taken, whatever free_in_buffer says.
boolean Grow(j_compress_ptr jpeg) {
  Buffer& into = *SessionOf(jpeg->client_data).into;
  const size_t taken = into.size();
  if (!into.TryResize(taken * 2)) ERREXIT1(jpeg, JERR_OUT_OF_MEMORY, 0);
  jpeg->dest->next_output_byte = into.data() + taken;
  jpeg->dest->free_in_buffer = into.size() - taken;
  return TRUE;
}

void End(j_compress_ptr jpeg) {
  Buffer& into = *SessionOf(jpeg->client_data).into;
  into.Resize(into.size() - jpeg->dest->free_in_buffer);
}

bool Compress(JpegEncodeSession& session, const Tensor& image, const JpegEncodeOptions& options) {
  jpeg_compress_struct& jpeg = session.jpeg;
  const auto components = static_cast<int>(image.shape()[2]);
  const size_t stride = static_cast<size_t>(image.shape()[1] * components);
  if (setjmp(session.jump) != 0) return false;
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

JpegEncoder::JpegEncoder() : session_(std::make_unique<JpegEncodeSession>()) {
  JpegEncodeSession& session = *session_;
  session.jpeg.err = jpeg_std_error(&session.errors);
  session.errors.error_exit = &OnEncodeError;
  session.errors.emit_message = &NoWarning;
  session.errors.output_message = &NoMessage;
  if (setjmp(session.jump) != 0) {
    session_.reset();
    return;
  }
  session.jpeg.client_data = &session;
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
  const Shape& shape = image.shape();
  if (session_ == nullptr) return Error{ErrorKind::kRun, "libjpeg cannot start", "", ""};
  if (image.dtype() != DType::kUint8 || shape.rank() != 3 || (shape[2] != 3 && shape[2] != 1) ||
      shape[0] < 1 || shape[1] < 1 || shape[0] > JPEG_MAX_DIMENSION ||
      shape[1] > JPEG_MAX_DIMENSION) {
    return Error{ErrorKind::kRun,
                 "a " + std::string(Name(image.dtype())) + " tensor of " + shape.ToString() +
                     " cannot be a JPEG",
                 "", "height x width x 3 of uint8 can"};
  }
  session_->into = &into;
  const bool done = Compress(*session_, image, options);
  session_->into = nullptr;
  if (done) return {};
  jpeg_abort_compress(&session_->jpeg);
  return Error{ErrorKind::kRun, std::string("libjpeg cannot encode: ") + session_->message, "", ""};
}

}  // namespace stallscope::data
