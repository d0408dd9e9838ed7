#include "collectors/data/jpeg_header.h"

#include <algorithm>
#include <string>

namespace stallscope::data {
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

// The numbers of a TIFF header, in its own byte order; 0 where they lie outside.
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
  if (segment.size() < 6) return Broken("the JPEG's frame header is cut off", at);
  header.sof = marker - 0xc0;
  header.precision = segment[0];
  header.height = Big16(segment, 1);
  header.width = Big16(segment, 3);
  header.components = segment[5];
  if (header.components == 0 || segment.size() < 6 + 3 * size_t{segment[5]}) {
    return Broken("the JPEG's frame header is cut off", at);
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
    // Markers may be padded with any number of 0xff; other bytes between segments are passed over
    // as the library does it (it warns of them when it decodes).
    while (at < jpeg.size() && jpeg[at] != 0xff) ++at;
    while (at < jpeg.size() && jpeg[at] == 0xff) ++at;
    if (at >= jpeg.size()) return Broken("the JPEG ends before its frame header", jpeg.size());
    const uint8_t marker = jpeg[at++];
    if (marker == 0 || StandsAlone(marker)) continue;
    if (marker == kSos || marker == kEoi) return Broken("the JPEG has no frame header", at - 1);
    if (jpeg.size() - at < 2) return Broken("the JPEG ends before its frame header", jpeg.size());
    const size_t length = Big16(jpeg, at);
    if (length < 2 || length > jpeg.size() - at) {
      return Broken("a segment of the JPEG is cut off", at - 1);
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

}  // namespace stallscope::data
