// A trace with one changed bit yields every frame except the one with the bit.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analyzer/trace/reader.h"
#include "tests/support/memory_file.h"
#include "tests/support/trace_samples.h"

using namespace stallscope;
using namespace stallscope::trace;
using stallscope::test::MemoryFile;

namespace {

class FlippedTrace {
 public:
  explicit FlippedTrace(std::string bytes)
      : bytes_(std::move(bytes)), offsets_(test::FrameOffsets(bytes_)), file_(bytes_) {
    auto reader = TraceReader::Open(file_.path());
    REQUIRE(reader.ok());
    reader_.emplace(std::move(reader).value());
  }

  const std::string& bytes() const { return bytes_; }

  // Whether the file with this bit changed reads correctly: the change is noticed, and nothing but
  // its frame is lost or different.
  bool ReadsRight(size_t bit) {
    const size_t at = bit / 8;
    const auto flipped = static_cast<char>(bytes_[at] ^ (1 << bit % 8));
    file_.Put(at, std::string_view(&flipped, 1));
    const bool good = at < kHeaderSize ? HeaderReadsRight() : FramesReadRight(*reader_, at);
    file_.Put(at, std::string_view(bytes_).substr(at, 1));
    return good;
  }

 private:
  bool HeaderReadsRight() const {
    auto reader = TraceReader::Open(file_.path());
    return reader.ok() && reader.value().damage().bytes == kHeaderSize &&
           FramesReadRight(reader.value(), bytes_.size());
  }

  bool FramesReadRight(TraceReader& reader, size_t damaged_at) const {
    reader.Rewind();
    bool lost = false;
    for (size_t i = 0; i + 1 < offsets_.size(); ++i) {
      if (damaged_at >= offsets_[i] && damaged_at < offsets_[i + 1]) {
        lost = true;
        continue;
      }
      const auto frame = reader.NextFrame();
      if (!frame.ok() || !frame.value() || frame.value()->offset != offsets_[i]) return false;
      if (frame.value()->payload != Payload(i)) return false;
    }
    const auto end = reader.NextFrame();
    if (!end.ok() || end.value()) return false;
    const Damage& damage = reader.damage();
    return !lost || damage.bytes != 0 || damage.cut_at;
  }

  std::string_view Payload(size_t i) const {
    return std::string_view(bytes_).substr(offsets_[i] + kFrameHeaderSize,
                                           offsets_[i + 1] - offsets_[i] - kFrameHeaderSize);
  }

  std::string bytes_;
  std::vector<size_t> offsets_;
  MemoryFile file_;
  std::optional<TraceReader> reader_;
};

std::string Trace64K() { return test::RandomTraceBytes(23, 12, 6'000); }

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("one changed bit in each byte of a 64 KiB trace costs at most one chunk") {
    FlippedTrace trace(Trace64K());
    CHECK(trace.bytes().size() > 60'000);
    CHECK(trace.bytes().size() < 80'000);
    size_t wrong = 0;
    for (size_t at = 0; at < trace.bytes().size(); ++at) {
      if (!trace.ReadsRight(at * 8 + (at * 5 + 3) % 8)) ++wrong;
    }
    CHECK(wrong == 0);
  }

  TEST_CASE("every changed bit of the headers costs at most one chunk") {
    const std::string bytes = test::RandomTraceBytes(24, 6, 1'500);
    FlippedTrace trace(bytes);
    for (size_t offset : test::FrameOffsets(bytes)) {
      const size_t begin = offset == kHeaderSize ? 0 : offset;
      const size_t end = std::min(offset + kFrameHeaderSize + 8, bytes.size());
      for (size_t bit = begin * 8; bit < end * 8; ++bit) {
        CAPTURE(bit);
        CHECK(trace.ReadsRight(bit));
      }
    }
  }
}

TEST_SUITE("slow") {
  TEST_CASE("every changed bit of a 64 KiB trace costs at most one chunk") {
    FlippedTrace trace(Trace64K());
    size_t wrong = 0;
    for (size_t bit = 0; bit < trace.bytes().size() * 8; ++bit) {
      if (!trace.ReadsRight(bit)) ++wrong;
    }
    CHECK(wrong == 0);
  }
}
