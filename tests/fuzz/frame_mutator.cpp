// How libFuzzer mutates a trace: without this, nearly every input would end at a wrong checksum.
// Most changes are inside one frame's payload, or repaired; the rest stay as they are.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "analyzer/trace/frame.h"
#include "analyzer/trace/limits.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using namespace stallscope::trace;

std::string Mutated(std::string bytes, size_t max_size) {
  const size_t size = bytes.size();
  bytes.resize(std::max(size, max_size));
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(bytes.data()), size, bytes.size()));
  return bytes;
}

// A frame that ends with the file although its length says more.
struct Frame {
  size_t offset;
  FrameHeader header;
  std::string_view payload;
};

// The frames that a walk from marker to marker finds, right or wrong.
template <class Visit>
void ForEachFrame(std::string_view bytes, Visit&& visit) {
  size_t at = bytes.find(kSync);
  while (at != std::string_view::npos && bytes.size() - at >= kFrameHeaderSize) {
    FrameHeader header{FrameType::kChunk, 0, 0, 0, 0};
    if (const auto decoded = DecodeFrameHeader(bytes.substr(at))) header = *decoded;
    const std::string_view rest = bytes.substr(at + kFrameHeaderSize);
    visit(Frame{at, header, rest.substr(0, header.length)});
    at = bytes.find(kSync, at + kSync.size());
  }
}

std::string Repaired(const std::string& bytes) {
  std::string repaired = bytes;
  if (bytes.size() < kHeaderSize) return EncodeFileHeader({});
  repaired.replace(0, kHeaderSize, EncodeFileHeader({}));
  ForEachFrame(bytes, [&](const Frame& frame) {
    if (frame.offset < kHeaderSize) return;
    const std::string whole =
        EncodeFrame(frame.header.type, frame.header.stream, frame.header.sequence, frame.payload);
    repaired.replace(frame.offset, whole.size(), whole);
  });
  return repaired;
}

// Another payload in the frame that `seed` picks.
std::string WithOtherPayload(const std::string& bytes, size_t max_size, unsigned seed) {
  size_t count = 0;
  ForEachFrame(bytes, [&](const Frame&) { ++count; });
  if (count == 0) return Repaired(bytes);
  size_t number = 0;
  std::string changed = bytes;
  ForEachFrame(bytes, [&](const Frame& frame) {
    if (number++ != seed % count) return;
    const size_t room = max_size > bytes.size() ? max_size - bytes.size() : 0;
    const std::string payload = Mutated(std::string(frame.payload),
                                        std::min(frame.payload.size() + room, size_t{kMaxPayload}));
    changed.replace(
        frame.offset, kFrameHeaderSize + frame.payload.size(),
        EncodeFrame(frame.header.type, frame.header.stream, frame.header.sequence, payload));
  });
  return changed;
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  std::string result;
  switch (seed % 8) {
    case 0:
      result = Mutated(bytes, max_size);
      break;
    case 1:
      result = Repaired(Mutated(bytes, max_size));
      break;
    default:
      result = WithOtherPayload(bytes, max_size, seed / 8);
      break;
  }
  if (result.size() > max_size) result.resize(max_size);
  std::memcpy(data, result.data(), result.size());
  return result.size();
}
