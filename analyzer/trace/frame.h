// The bytes around a payload, and those of the file header. FORMAT.md documents them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stallscope::trace {

// CRC32C of `data`, continuing from `crc` (0 to start).
uint32_t Crc32c(std::string_view data, uint32_t crc = 0);

// --- The file header: kHeaderSize bytes ----------------------------------------------------------

constexpr std::string_view kMagic("\x89SST\r\n\x1a\n", 8);
constexpr size_t kHeaderSize = 32;
constexpr uint16_t kVersionMajor = 1;
constexpr uint16_t kVersionMinor = 0;

struct FileHeader {
  uint16_t major = kVersionMajor;
  uint16_t minor = kVersionMinor;
  uint32_t compatible_features = 0;    // a reader may ignore unknown ones
  uint32_t incompatible_features = 0;  // a reader must refuse unknown ones
};
std::string EncodeFileHeader(const FileHeader& header);
// Nothing if the magic or the checksum is wrong. `data` has at least kHeaderSize bytes.
std::optional<FileHeader> DecodeFileHeader(std::string_view data);

// --- A frame: kFrameHeaderSize bytes, then the payload -------------------------------------------

constexpr std::string_view kSync("\xf5\x0fSSTFR\x1e", 8);
constexpr size_t kFrameHeaderSize = 28;

// Types from 3 on are free: a reader skips whole frames of unknown types.
enum class FrameType : uint8_t { kChunk = 1, kSeal = 2 };

struct FrameHeader {
  FrameType type = FrameType::kChunk;
  uint32_t stream = 0;    // who wrote it; each stream counts its own frames
  uint32_t sequence = 0;  // of the stream, from 0
  uint32_t length = 0;    // of the payload
  uint32_t crc = 0;       // of the header between the sync marker and here, then the payload
};
// The whole frame. The payload has at most kMaxPayload bytes.
std::string EncodeFrame(FrameType type, uint32_t stream, uint32_t sequence,
                        std::string_view payload);
// Nothing if the sync marker, the type or the length is invalid. Does not check the CRC: the
// payload may not have been read yet. `data` has at least kFrameHeaderSize bytes.
std::optional<FrameHeader> DecodeFrameHeader(std::string_view data);
// Whether header and payload are as written.
bool FrameIsWhole(std::string_view header_bytes, const FrameHeader& header,
                  std::string_view payload);

}  // namespace stallscope::trace
