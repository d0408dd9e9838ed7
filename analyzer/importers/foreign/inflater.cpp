#include "analyzer/importers/foreign/inflater.h"

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <utility>

namespace stallscope::importers {
namespace {

constexpr size_t kPackedBlock = size_t{256} << 10;

const char* What(int error) {
  switch (error) {
    case ISAL_INCORRECT_CHECKSUM:
      return "the gzip data fails its checksum";
    case ISAL_INVALID_WRAPPER:
    case ISAL_UNSUPPORTED_METHOD:
      return "the gzip header is broken";
    default:
      return "the gzip data is damaged";
  }
}

}  // namespace

struct Inflater::State {
  inflate_state stream;
};

Inflater::Inflater(InputFile file)
    : file_(std::move(file)), block_(kPackedBlock), state_(std::make_unique<State>()) {
  isal_inflate_init(&state_->stream);
  state_->stream.crc_flag = ISAL_GZIP;
}
Inflater::~Inflater() = default;

uint64_t Inflater::packed() const { return read_ - state_->stream.avail_in; }

void Inflater::Damaged(const std::string& what) {
  damage_ = Fault{what + " at packed offset " + std::to_string(packed()), packed()};
  ended_ = true;
}

Result<bool> Inflater::Refill() {
  STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, file_.ReadAt(read_, block_.data(), block_.size()));
  read_ += got;
  state_->stream.next_in = block_.data();
  state_->stream.avail_in = static_cast<uint32_t>(got);
  return got > 0;
}

Result<bool> Inflater::NextMember() {
  inflate_state& stream = state_->stream;
  for (;;) {
    if (stream.avail_in == 0) {
      STALLSCOPE_ASSIGN_OR_RETURN(const bool more, Refill());
      if (!more) return false;
    }
    // Tapes and some archivers pad with zeros.
    if (*stream.next_in != 0) break;
    ++stream.next_in;
    --stream.avail_in;
  }
  if (*stream.next_in != 0x1f) {
    Damaged("something that is not gzip follows the gzip data");
    return false;
  }
  isal_inflate_reset(&stream);
  stream.crc_flag = ISAL_GZIP;
  return true;
}

Result<size_t> Inflater::Read(char* into, size_t size) {
  inflate_state& stream = state_->stream;
  size_t filled = 0;
  while (filled < size && !ended_) {
    if (stream.block_state == ISAL_BLOCK_FINISH) {
      STALLSCOPE_ASSIGN_OR_RETURN(const bool more, NextMember());
      if (!more) ended_ = true;
      continue;
    }
    bool at_end = false;
    if (stream.avail_in == 0) {
      STALLSCOPE_ASSIGN_OR_RETURN(const bool more, Refill());
      at_end = !more;
    }
    stream.next_out = reinterpret_cast<uint8_t*>(into) + filled;
    const auto room = static_cast<uint32_t>(std::min<size_t>(size - filled, 1u << 30));
    stream.avail_out = room;
    const int result = isal_inflate(&stream);
    filled += room - stream.avail_out;
    if (result < 0 || result == ISAL_NEED_DICT) {
      Damaged(What(result));
    } else if (at_end && stream.avail_out == room && stream.block_state != ISAL_BLOCK_FINISH) {
      // Nothing comes in and nothing comes out any more.
      Damaged("the gzip data breaks off");
    }
  }
  unpacked_ += filled;
  return filled;
}

}  // namespace stallscope::importers
