#include "analyzer/trace/writer.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/trace/reader.h"
#include "tests/support/faults.h"
#include "tests/support/paths.h"

using namespace stallscope;
using namespace stallscope::trace;
using stallscope::test::FaultyDisk;
using stallscope::test::ScratchDir;

namespace {

struct ReadBack {
  std::vector<std::string> payloads;
  std::vector<uint32_t> sequences;
  Damage damage;
};

ReadBack ReadFrames(const std::string& path) {
  auto reader = TraceReader::Open(path);
  REQUIRE(reader.ok());
  ReadBack back;
  for (;;) {
    auto frame = reader.value().NextFrame();
    REQUIRE(frame.ok());
    if (!frame.value()) break;
    back.payloads.emplace_back(frame.value()->payload);
    back.sequences.push_back(frame.value()->header.sequence);
  }
  back.damage = reader.value().damage();
  return back;
}

std::string Payload(int i) { return "payload " + std::to_string(i) + std::string(200, '.'); }

constexpr int kFrames = 4;

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("frames are appended and numbered per stream") {
    ScratchDir dir;
    auto writer = TraceWriter::Create(dir / "t.sst");
    REQUIRE(writer.ok());
    CHECK(writer.value().path() == dir / "t.sst");
    CHECK(writer.value().size() == kHeaderSize);
    CHECK(writer.value().Append(FrameType::kChunk, "a").ok());
    CHECK(writer.value().Append(FrameType::kChunk, "b", 7).ok());
    CHECK(writer.value().Append(FrameType::kChunk, "c", 0xffffffff).ok());
    CHECK(writer.value().Append(FrameType::kChunk, "d").ok());
    CHECK(writer.value().Append(FrameType::kSeal, "e", 7).ok());
    CHECK(writer.value().Sync().ok());
    CHECK(writer.value().size() == std::filesystem::file_size(dir / "t.sst"));
    const ReadBack back = ReadFrames(dir / "t.sst");
    CHECK(back.payloads == std::vector<std::string>{"a", "b", "c", "d", "e"});
    CHECK(back.sequences == std::vector<uint32_t>{0, 0, 0, 1, 1});
    CHECK(back.damage.bytes == 0);
    CHECK(back.damage.missing_frames == 0);
    CHECK_FALSE(back.damage.cut_at);
  }

  TEST_CASE("short and interrupted writes change nothing, at every write") {
    for (auto fault : {FaultyDisk::Fault::kShort, FaultyDisk::Fault::kInterrupted}) {
      for (int first = 0; first <= kFrames; ++first) {
        for (int count : {1, 3}) {
          ScratchDir dir;
          FaultyDisk disk(fault, first, count);
          auto writer = TraceWriter::Create(dir / "t.sst", disk);
          REQUIRE(writer.ok());
          for (int i = 0; i < kFrames; ++i) {
            CHECK(writer.value().Append(FrameType::kChunk, Payload(i)).ok());
          }
          CHECK(ReadFrames(dir / "t.sst").payloads.size() == kFrames);
          CHECK(ReadFrames(dir / "t.sst").damage.bytes == 0);
        }
      }
    }
  }

  TEST_CASE("a write that fails is reported, costs its own frame, and no other") {
    for (int error : {ENOSPC, EIO, EDQUOT, EFBIG}) {
      for (int first = 1; first <= kFrames; ++first) {
        CAPTURE(error);
        CAPTURE(first);
        ScratchDir dir;
        FaultyDisk disk(FaultyDisk::Fault::kError, first, 1, error);
        auto writer = TraceWriter::Create(dir / "t.sst", disk);
        REQUIRE(writer.ok());
        std::vector<std::string> expected;
        for (int i = 0; i < kFrames; ++i) {
          const Status written = writer.value().Append(FrameType::kChunk, Payload(i));
          CHECK(written.ok() == (i + 1 != first));
          if (written.ok()) {
            expected.push_back(Payload(i));
          } else {
            CHECK(written.error().kind == ErrorKind::kRun);
            CHECK(written.error().where == dir / "t.sst");
          }
          const ReadBack now = ReadFrames(dir / "t.sst");
          CHECK(now.payloads == expected);
          CHECK(now.damage.bytes == 0);
          CHECK(now.damage.missing_frames == 0);
          CHECK_FALSE(now.damage.cut_at);
        }
      }
    }
  }

  // The disk takes part of a frame, then nothing: what it took is cut off again, and a shorter
  // frame in its place is followed by nothing.
  TEST_CASE("a partly written frame is removed, at every write") {
    for (int first = 1; first <= kFrames; ++first) {
      class PartThenFull : public FileOps {
       public:
        explicit PartThenFull(int number) : number_(number) {}
        ssize_t Pwrite(int fd, const void* data, size_t size, off_t offset) override {
          const int number = writes_++;
          if (number == number_) return FileOps::Pwrite(fd, data, size - 1, offset);
          if (number != number_ + 1) return FileOps::Pwrite(fd, data, size, offset);
          errno = ENOSPC;
          return -1;
        }

       private:
        int number_;
        int writes_ = 0;
      } disk(first);
      ScratchDir dir;
      auto writer = TraceWriter::Create(dir / "t.sst", disk);
      REQUIRE(writer.ok());
      std::vector<std::string> expected;
      for (int i = 0; i < kFrames; ++i) {
        const std::string payload = Payload(i).substr(0, static_cast<size_t>(100 - i));
        if (writer.value().Append(FrameType::kChunk, payload).ok()) expected.push_back(payload);
        CHECK(writer.value().size() == std::filesystem::file_size(dir / "t.sst"));
      }
      CHECK(expected.size() == kFrames - 1);
      const ReadBack back = ReadFrames(dir / "t.sst");
      CHECK(back.payloads == expected);
      CHECK(back.damage.bytes == 0);
      CHECK(back.damage.missing_frames == 0);
    }
  }

  TEST_CASE("a header that cannot be written is an error and leaves no trace") {
    for (int error : {ENOSPC, EIO}) {
      ScratchDir dir;
      FaultyDisk disk(FaultyDisk::Fault::kError, 0, 1, error);
      const auto writer = TraceWriter::Create(dir / "t.sst", disk);
      REQUIRE_FALSE(writer.ok());
      CHECK(writer.error().kind == ErrorKind::kRun);
      CHECK_FALSE(TraceReader::Open(dir / "t.sst").ok());
    }
    CHECK_FALSE(TraceWriter::Create("/nowhere/at/all/t.sst").ok());
  }
}
