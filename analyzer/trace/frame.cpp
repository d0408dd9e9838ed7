#include "analyzer/trace/frame.h"

#include <isa-l/crc.h>

#include <bit>
#include <cassert>
#include <cstring>

#include "analyzer/trace/limits.h"

namespace stallscope::trace {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little endian");

template <class T>
void Put(std::string& to, T value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
T Get(std::string_view from, size_t offset) {
  T value;
  std::memcpy(&value, from.data() + offset, sizeof value);
  return value;
}

}  // namespace

uint32_t Crc32c(std::string_view data, uint32_t crc) {
  // isa-l takes and returns the raw register; CRC32C inverts it at both ends.
  auto* bytes = reinterpret_cast<unsigned char*>(const_cast<char*>(data.data()));
  return ~crc32_iscsi(bytes, static_cast<int>(data.size()), ~crc);
}

std::string EncodeFileHeader(const FileHeader& header) {
  std::string bytes(kMagic);
  Put(bytes, header.major);
  Put(bytes, header.minor);
  Put(bytes, header.compatible_features);
  Put(bytes, header.incompatible_features);
  Put(bytes, uint64_t{0});
  Put(bytes, Crc32c(bytes));
  assert(bytes.size() == kHeaderSize);
  return bytes;
}

std::optional<FileHeader> DecodeFileHeader(std::string_view data) {
  if (data.substr(0, kMagic.size()) != kMagic) return std::nullopt;
  if (Get<uint32_t>(data, 28) != Crc32c(data.substr(0, 28))) return std::nullopt;
  return FileHeader{Get<uint16_t>(data, 8), Get<uint16_t>(data, 10), Get<uint32_t>(data, 12),
                    Get<uint32_t>(data, 16)};
}

std::string EncodeFrame(FrameType type, uint32_t stream, uint32_t sequence,
                        std::string_view payload) {
  assert(payload.size() <= kMaxPayload);
  std::string frame;
  frame.reserve(kFrameHeaderSize + payload.size());
  frame.append(kSync);
  Put(frame, static_cast<uint32_t>(type));
  Put(frame, stream);
  Put(frame, sequence);
  Put(frame, static_cast<uint32_t>(payload.size()));
  const std::string_view covered = std::string_view(frame).substr(kSync.size());
  Put(frame, Crc32c(payload, Crc32c(covered)));
  frame.append(payload);
  return frame;
}

std::optional<FrameHeader> DecodeFrameHeader(std::string_view data) {
  if (data.substr(0, kSync.size()) != kSync) return std::nullopt;
  const uint32_t type = Get<uint32_t>(data, 8);
  const uint32_t length = Get<uint32_t>(data, 20);
  if (type == 0 || type > 255 || length > kMaxPayload) return std::nullopt;
  return FrameHeader{static_cast<FrameType>(type), Get<uint32_t>(data, 12), Get<uint32_t>(data, 16),
                     length, Get<uint32_t>(data, 24)};
}

bool FrameIsWhole(std::string_view header_bytes, const FrameHeader& header,
                  std::string_view payload) {
  const std::string_view covered =
      header_bytes.substr(kSync.size(), kFrameHeaderSize - kSync.size() - 4);
  return Crc32c(payload, Crc32c(covered)) == header.crc;
}

}  // namespace stallscope::trace
