#include "collectors/recorder/ring_file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <vector>

#include "analyzer/base/file.h"
#include "collectors/recorder/definitions.h"
#include "collectors/recorder/recorder.h"
#include "collectors/recorder/translate.h"
#include "tests/collectors/recorder/recorded_trace.h"
#include "tests/support/paths.h"

using namespace stallscope;
using namespace stallscope::recorder;
using recorder::internal::Tag;
using recorder::internal::Word;

namespace {

const ProcessKey kSelf = *ReadProcessKey(static_cast<uint64_t>(getpid()));

// A folder with rings, and its descriptor.
struct RingFolder {
  test::ScratchDir dir;
  int fd = open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ~RingFolder() { close(fd); }

  std::unique_ptr<Ring> Create(size_t slots, TickSource ticks = TickSource::kMonotonic,
                               uint64_t number = 0) {
    auto made = CreateRingFile(dir.path(), {kSelf, 9, 0, ticks}, number, slots);
    REQUIRE(made.ok());
    return std::move(made).value();
  }
  std::string Name(uint64_t number = 0) const {
    return kSelf.Text() + ".9." + std::to_string(number) + ".ring";
  }
  std::unique_ptr<AdoptedRing> Adopt(uint64_t number = 0) {
    auto opened = AdoptedRing::Open(fd, Name(number));
    REQUIRE(opened.ok());
    return std::move(opened).value();
  }
  void Overwrite(off_t offset, uint64_t value) {
    const int file = open((dir / Name()).c_str(), O_RDWR | O_CLOEXEC);
    REQUIRE(pwrite(file, &value, sizeof value, offset) == sizeof value);
    close(file);
  }
};

Slot FileWork(uint64_t start, uint64_t item, uint64_t stage = 0) {
  return {start, Word(Tag::kWork, stage, 5), item};
}

// Names that are known from the start.
struct FixedNames : ForeignProcess {
  IdMap ids;
  const IdMap& CatchUp() override { return ids; }
};

IdMap SomeNames() {
  IdMap ids;
  ids.stages = {StageId{3}, StageId{4}};
  ids.queues = {QueueId{7}};
  ids.counters = {CounterId{2}};
  ids.tracks = {TrackId{1}};
  ids.strings = {trace::StringId{6}};
  ids.loaders = {LoaderId{2}};
  return ids;
}

// The slots as they are after the translation, and how many events were refused.
uint64_t TranslateAll(std::vector<Slot>& slots, const IdMap& ids = SomeNames()) {
  return Translate([&](uint64_t i) -> Slot& { return slots[i]; }, 0, slots.size(), ids,
                   {1'000, 2'000});
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a ring in a file is read as it was written, around its end too") {
    RingFolder folder;
    const auto ring = folder.Create(16);
    const auto adopted = folder.Adopt();
    CHECK(adopted->owner().process == kSelf);
    CHECK(adopted->owner().tid == 9);
    uint64_t next = 0;
    for (int round = 0; round < 7; ++round) {
      const uint64_t first = next;
      for (int i = 0; i < 11; ++i, ++next) ring->Put(next, FileWork(next, next));
      adopted->Pull(false);
      REQUIRE(adopted->ring().Tail() == first);
      REQUIRE(adopted->ring().Published() == next);
      for (uint64_t i = first; i < next; ++i) CHECK(adopted->ring().At(i).c == i);
      adopted->ring().Release(next);
      adopted->Push();
    }
    CHECK(ring->Dropped() == 0);
    CHECK_FALSE(adopted->closed());
    ring->Close();
    adopted->Pull(false);
    CHECK(adopted->closed());
    adopted->Remove();
    CHECK(std::filesystem::is_empty(folder.dir.path()));
  }

  TEST_CASE("a ring that nobody drains refuses and counts, and its gap is seen") {
    RingFolder folder;
    const auto ring = folder.Create(16);
    const auto adopted = folder.Adopt();
    for (uint64_t i = 0; i < 20; ++i) ring->Put(i, FileWork(i, i));
    CHECK_FALSE(adopted->Filling() == false);
    adopted->Pull(false);
    CHECK(adopted->ring().Published() == 16);
    CHECK(adopted->ring().Dropped() == 4);
    CHECK(adopted->ring().Open().from == 16);
    CHECK(adopted->ring().Open().to == 19);
  }

  TEST_CASE("what a killed writer had published is there") {
    RingFolder folder;
    int ready[2];
    REQUIRE(pipe(ready) == 0);
    const pid_t child = fork();
    if (child == 0) {
      auto ring = CreateRingFile(folder.dir.path(), {kSelf, 9, 0, TickSource::kMonotonic}, 0, 64);
      if (!ring.ok()) _exit(1);
      for (uint64_t i = 0; i < 40; ++i) ring.value()->Put(i, FileWork(i, i));
      (void)!write(ready[1], "", 1);
      pause();
    }
    char byte;
    REQUIRE(read(ready[0], &byte, 1) == 1);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const auto adopted = folder.Adopt();
    adopted->Pull(true);
    CHECK(adopted->ring().Published() == 40);
    CHECK(adopted->ring().At(39).c == 39);
    close(ready[0]);
    close(ready[1]);
  }

  TEST_CASE("a file that is no ring is not adopted") {
    RingFolder folder;
    folder.Create(16);
    const auto refused = [&](const std::string& name) {
      const auto opened = AdoptedRing::Open(folder.fd, name);
      return !opened.ok() && opened.error().kind == ErrorKind::kInput;
    };
    REQUIRE_FALSE(refused(folder.Name()));
    const std::string good = ReadWholeFile(folder.dir / folder.Name(), 1 << 20).value();
    const auto with = [&](size_t offset, uint64_t value) {
      std::string bytes = good;
      bytes.replace(offset, sizeof value, reinterpret_cast<const char*>(&value), sizeof value);
      std::ofstream(folder.dir / folder.Name(), std::ios::binary) << bytes;
      return refused(folder.Name());
    };
    CHECK(with(0, 1));                   // magic
    CHECK(with(8, 2));                   // version
    CHECK(with(16, 32));                 // longer than the file
    CHECK(with(16, 17));                 // no power of two
    CHECK(with(16, 0));                  // none
    CHECK(with(16, uint64_t{1} << 60));  // its length would wrap
    CHECK(with(24, kSelf.pid + 1));
    CHECK(with(32, 8));
    CHECK(with(40, kSelf.start + 1));
    CHECK(with(48, 2));  // clock
    CHECK_FALSE(with(56, ~uint64_t{0}));
    std::ofstream(folder.dir / folder.Name(), std::ios::binary) << good.substr(0, 100);
    CHECK(refused(folder.Name()));
    std::ofstream(folder.dir / folder.Name(), std::ios::binary) << good << "x";
    CHECK(refused(folder.Name()));
    REQUIRE(mkfifo((folder.dir / "1.2.3.4.ring").c_str(), 0600) == 0);
    CHECK(refused("1.2.3.4.ring"));  // and does not wait for a writer
    std::filesystem::create_symlink(folder.dir / folder.Name(), folder.dir / "1.2.3.5.ring");
    CHECK(refused("1.2.3.5.ring"));
    for (const char* name : {"", "ring", ".ring", "1.2.3.ring", "1.2.3.4.5.ring", "1.2.3.x.ring",
                             "-1.2.3.4.ring", "1.2.3.99999999999999999999.ring", "1.2.3.4.names"}) {
      CAPTURE(name);
      CHECK(refused(name));
    }
  }

  TEST_CASE("a seal that makes no sense is looked at twice, then skipped and counted") {
    RingFolder folder;
    const auto ring = folder.Create(16);
    const auto adopted = folder.Adopt();
    for (uint64_t i = 0; i < 3; ++i) ring->Put(i, FileWork(i, i));
    adopted->Pull(false);
    adopted->ring().Release(3);
    for (uint64_t torn : {uint64_t{2}, uint64_t{20}, ~uint64_t{0}}) {
      folder.Overwrite(64, torn);
      adopted->Pull(false);
      CHECK(adopted->ring().Published() == 3);
      folder.Overwrite(64, 3);
      adopted->Pull(false);
      CHECK(adopted->skipped() == 0);
    }
    folder.Overwrite(64, 3 + 100);
    adopted->Pull(false);
    adopted->Pull(false);
    CHECK(adopted->skipped() == 100);
    CHECK(adopted->ring().Tail() == 103);
    // The writer goes on from there.
    folder.Overwrite(64, 104);
    adopted->Pull(false);
    CHECK(adopted->ring().Published() == 104);
    CHECK(adopted->skipped() == 100);
  }

  TEST_CASE("a file that shrinks is damage, not a signal") {
    RingFolder folder;
    const auto ring = folder.Create(1024);
    const auto adopted = folder.Adopt();
    for (uint64_t i = 0; i < 1000; ++i) ring->Put(i, FileWork(i, i));
    REQUIRE(truncate((folder.dir / folder.Name()).c_str(), 5000) == 0);
    adopted->Pull(false);
    adopted->Pull(false);
    CHECK(adopted->skipped() == 1000);
    REQUIRE(truncate((folder.dir / folder.Name()).c_str(), 0) == 0);
    CHECK_FALSE(adopted->Filling());
    adopted->Pull(true);
    CHECK(adopted->ring().Published() == 1000);
  }

  TEST_CASE("a disk without room gives no ring, and leaves no file") {
    const auto made = CreateRingFile("/nowhere", {kSelf, 9, 0, TickSource::kMonotonic}, 0, 16);
    CHECK_FALSE(made.ok());
    RingFolder folder;
    // More than any disk has.
    const auto huge = CreateRingFile(folder.dir.path(), {kSelf, 9, 0, TickSource::kMonotonic}, 0,
                                     size_t{1} << 50);
    CHECK_FALSE(huge.ok());
    CHECK(std::filesystem::is_empty(folder.dir.path()));
  }

  TEST_CASE("a detached ring writes for nobody") {
    RingFolder folder;
    const auto ring = folder.Create(16);
    const auto adopted = folder.Adopt();
    ring->Put(1, FileWork(1, 1));
    ring->Detach();
    for (uint64_t i = 0; i < 100; ++i) ring->Put(i, FileWork(i, i));
    adopted->Pull(false);
    CHECK(adopted->ring().Published() == 1);
    CHECK(adopted->ring().Dropped() == 0);
  }

  TEST_CASE("ids of another process become ours") {
    constexpr uint64_t kItem = uint64_t{5} << 32 | 17;  // of loader 0
    constexpr uint64_t kOurs = uint64_t{2} << 48 | kItem;
    const uint64_t value = 0x3ff0'0000'0000'0000;
    std::vector<Slot> slots{
        {1'100, Word(Tag::kWork, 1, 9), kItem},
        {64, Word(Tag::kCost), 8},
        {1'100, Word(Tag::kWait, 6 | 0 << 3, 9), 0},
        {1'100, Word(Tag::kWait, 1 | 0x1fff << 3, 9), 0xffffffff},
        {1'100, Word(Tag::kPush, 0, 3), kItem},
        {1'100, Word(Tag::kNamed, 7, 9), 0 | uint64_t{2} << 32},
        {1'100, Word(Tag::kBatch, 0xffff, 4), kItem},
        {ItemId::None().value, 0xffffffff, 0},
        {1'100, Word(Tag::kSample, 0, 0), value},
        {1'100, Word(Tag::kRelease, 0, 9), kItem},
        {1'100, Word(Tag::kStep, 0, 4), kItem},
        {1'200, 1'300, 1'400},
        {0, 0, 0},
    };
    CHECK(TranslateAll(slots) == 0);
    CHECK(slots[0].b == Word(Tag::kWork, 4, 9));
    CHECK(slots[0].c == kOurs);
    CHECK(slots[2].b == Word(Tag::kWait, 6 | 7 << 3, 9));
    CHECK(slots[2].c == 1);
    CHECK(slots[3].b == Word(Tag::kWait, 1 | 0x1fff << 3, 9));
    CHECK(slots[4].b == Word(Tag::kPush, 7, 3));
    CHECK(slots[5].c == (6 | uint64_t{5} << 32));
    CHECK(slots[6].b == Word(Tag::kBatch, 0xffff, 4));
    CHECK(slots[6].c == kOurs);
    CHECK(slots[8].b == Word(Tag::kSample, 0, 2));
    CHECK(slots[9].b == Word(Tag::kRelease, 3, 9));
    CHECK(slots[10].c == kOurs);
  }

  TEST_CASE("events that make no sense are refused, their neighbors are not") {
    const std::vector<std::vector<Slot>> bad{
        {{1'100, 0, 0}},   // no tag
        {{1'100, 18, 0}},  // an unknown one
        {{1'100, 255, 0}},
        {{1'100, Word(Tag::kWork, 2, 1), 0}},  // no such stage
        {{999, Word(Tag::kWork, 0, 1), 0}},    // before the recording
        {{1'999, Word(Tag::kWork, 0, 2), 0}},  // ends after now
        {{1'100, Word(Tag::kWork, 0, 0), 0}, {~uint64_t{0}, Word(Tag::kDuration), 0}},
        {{1'100, Word(Tag::kWork, 0, 1), uint64_t{1} << 48}},         // no such loader
        {{1'100, Word(Tag::kWork, 0, 1), uint64_t{1} << 63}},         // no item
        {{1'100, Word(Tag::kWait, 7 | 0x1fff << 3, 1), 0xffffffff}},  // no such cause
        {{1'100, Word(Tag::kWait, 1 | 1 << 3, 1), 0xffffffff}},       // no such queue
        {{1'100, Word(Tag::kWait, 1 | 0x1fff << 3, 1), 1}},           // no such waker
        {{1'100, Word(Tag::kPush, 1, 1), 0}},
        {{1'100, Word(Tag::kPop, 0, uint64_t{1} << 32), 0}},
        {{1'100, Word(Tag::kNamed, 9, 1), 0}},
        {{1'100, Word(Tag::kNamed, 7, 1), 1}},
        {{1'100, Word(Tag::kNamed, 7, 1), uint64_t{3} << 32}},
        {{1'100, Word(Tag::kSample, 0, 1), 0}},
        {{1'100, Word(Tag::kCache, 0, 1), 0}, {0, 3, 0}},
        {{1'100, Word(Tag::kCopy, 3, 0), 0}, {1'100, 1'100, 0}, {0, 0, 0}},
        {{1'100, Word(Tag::kStep, 0, 1), 0}, {1'100, 1'100, 2'001}, {0, 0, 0}},
        {{1'100, Word(Tag::kKernel, 0, 1), 0}, {1'100, 1'100, 0}, {0, 0, 0}},
        {{1'100, Word(Tag::kGap), 1}, {1, 0, 0}},
    };
    for (const std::vector<Slot>& event : bad) {
      std::vector<Slot> slots{FileWork(1'100, 1)};
      slots.insert(slots.end(), event.begin(), event.end());
      slots.push_back(FileWork(1'200, 2));
      CAPTURE(static_cast<int>(event[0].b & 0xff));
      CHECK(TranslateAll(slots) == 1);
      CHECK(slots.front().b != 0);
      CHECK(slots.back().b != 0);
      for (size_t i = 1; i <= event.size(); ++i) CHECK(slots[i].b == 0);
    }
    // What follows nothing.
    for (Tag tag : {Tag::kCost, Tag::kDuration}) {
      std::vector<Slot> slots{{0, Word(tag), 0}, FileWork(1'100, 1)};
      CHECK(TranslateAll(slots) == 1);
      CHECK(slots[1].b != 0);
    }
    // Longer than what was published.
    for (Tag tag : {Tag::kBatch, Tag::kElement, Tag::kCache, Tag::kCopy, Tag::kKernel, Tag::kStep,
                    Tag::kGap}) {
      std::vector<Slot> slots{{1'100, Word(tag), 0}};
      CHECK(TranslateAll(slots) == 1);
    }
  }

  TEST_CASE("an adopted ring is drained into the trace with its own clock, and its file removed") {
    for (TickSource ticks : {TickSource::kMonotonic, TickSource::kTsc}) {
      if (ticks == TickSource::kTsc && !TicksAreTsc()) continue;
      RingFolder folder;
      test::ScratchDir out;
      auto started = Recorder::Start(out / "r.sst", {});
      REQUIRE(started.ok());
      Recorder& recorder = *started.value();
      auto names = std::make_shared<FixedNames>();
      names->ids.stages = {recorder.DefineStage({.name = "fetch"})};
      const TrackId track = recorder.names().Define(trace::TrackInfo{.name = "worker"});
      const auto ring = folder.Create(64, ticks);
      const int64_t before_ns = MonotonicNs();
      const Ticks now = ticks == TickSource::kTsc ? NowTicks() : static_cast<Ticks>(MonotonicNs());
      for (uint64_t i = 0; i < 30; ++i) ring->Put(now, FileWork(now, i));
      ring->Put(now, Slot{now, 99, 0});
      const auto adoption = recorder.Adopt(folder.Adopt(), track, names);
      REQUIRE(recorder.Flush().ok());
      ring->Put(now, FileWork(now, 30));
      ring->Close();
      REQUIRE(recorder.Flush().ok());
      CHECK(std::filesystem::is_empty(folder.dir.path()));
      const Summary summary = recorder.Stop();
      CHECK(summary.emitted == 32);
      CHECK(summary.stored == 31);
      CHECK(summary.dropped == 1);
      const auto trace = test::ReadTrace(out / "r.sst");
      const auto& spans = trace.spans.at(track.value);
      REQUIRE(spans.size() == 31);
      CHECK(spans[30].item.value == 30);
      CHECK(spans[0].span_class.stage == names->ids.stages[0]);
      CHECK(spans[0].start_ns >= before_ns - 1'000);
      CHECK(spans[0].start_ns < before_ns + 10'000'000'000);
    }
  }

  TEST_CASE("a ring whose owner gives it up is drained to its end") {
    RingFolder folder;
    test::ScratchDir out;
    auto started = Recorder::Start(out / "r.sst", {});
    REQUIRE(started.ok());
    auto names = std::make_shared<FixedNames>();
    names->ids.stages = {started.value()->DefineStage({.name = "fetch"})};
    const auto ring = folder.Create(64);
    auto adoption = started.value()->Adopt(folder.Adopt(), TrackId{0}, names);
    const auto now = static_cast<Ticks>(MonotonicNs());
    for (uint64_t i = 0; i < 30; ++i) ring->Put(now, FileWork(now, i));
    adoption.reset();
    CHECK(started.value()->Stop().stored == 30);
    CHECK(std::filesystem::is_empty(folder.dir.path()));
  }
}
