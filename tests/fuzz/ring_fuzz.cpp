// Any ring and any names file: adopted, read, checked and drained as those of a job. The input is
// the length of the ring (4 bytes), its header's first 136 bytes and its slots, and behind it the
// names.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/trace/chunk.h"
#include "analyzer/trace/limits.h"
#include "collectors/job/job_names.h"
#include "collectors/recorder/drain.h"
#include "collectors/recorder/ring_file.h"
#include "collectors/recorder/translate.h"
#include "tests/fuzz/expect.h"

using namespace stallscope;

namespace {

constexpr recorder::ProcessKey kProcess{7, 9};
constexpr Ticks kLast = 1'000'000;

class InputBytes final : public recorder::RingBytes {
 public:
  explicit InputBytes(std::string& file) : file_(file) {}
  std::optional<uint64_t> Length() const override { return file_.size(); }
  bool Read(uint64_t offset, void* to, size_t bytes) const override {
    if (offset > file_.size() || bytes > file_.size() - offset) return false;
    std::memcpy(to, file_.data() + offset, bytes);
    return true;
  }
  void Write(uint64_t offset, const void* from, size_t bytes) override {
    STALLSCOPE_EXPECT(offset + bytes <= file_.size());
    std::memcpy(file_.data() + offset, from, bytes);
  }
  void Remove() override {}

 private:
  std::string& file_;
};

void CheckChunk(const std::string& payload) {
  const auto chunk = trace::DecodeChunk(payload);
  STALLSCOPE_EXPECT(chunk.ok());
  for (const trace::Step& step : chunk.value().rows.steps) {
    STALLSCOPE_EXPECT(step.device_done_ns >= 0 && step.device_done_ns <= int64_t{kLast});
  }
  for (const trace::Sample& sample : chunk.value().rows.samples) {
    STALLSCOPE_EXPECT(sample.counter.known());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  uint32_t length = 0;
  std::memcpy(&length, data, sizeof length);
  const std::string_view rest(reinterpret_cast<const char*>(data) + 4, size - 4);
  const std::string_view ring = rest.substr(0, std::min<size_t>(length, rest.size()));
  static const std::string name = kProcess.Text() + ".8.0.ring";
  constexpr size_t kHeaderWords = 136;
  static std::string file;
  file.assign(ring.substr(0, kHeaderWords));
  file.resize(recorder::Ring::kHeaderBytes);
  file += ring.substr(std::min(kHeaderWords, ring.size()));

  recorder::DefinitionTable table{trace::RunInfo{}};
  job::JobNames names(table, -1);
  const auto process = names.ProcessOf(kProcess);
  const recorder::IdMap& ids = process->CatchUpWith(rest.substr(ring.size()));
  trace::ChunkBuilder builder(table);
  const trace::Definitions defined = table.TakeNew();
  if (defined.run) builder.Define(*defined.run);
  CheckChunk(builder.Finish({}));

  auto opened = recorder::AdoptedRing::Open(std::make_unique<InputBytes>(file), name);
  if (!opened.ok()) return 0;
  recorder::AdoptedRing& adopted = *opened.value();
  const TrackId track = process->TrackOf(adopted.owner());
  adopted.Pull(false);
  adopted.Pull(true);
  const uint64_t from = adopted.ring().Tail();
  const uint64_t to = adopted.ring().Published();
  STALLSCOPE_EXPECT(to - from <= adopted.ring().capacity());
  recorder::Translate([&](uint64_t i) -> recorder::Slot& { return adopted.SlotAt(i); }, from, to,
                      ids, {0, kLast});
  const ClockMap monotonic;
  while (adopted.ring().Tail() != to) {
    recorder::Drain(adopted.ring(), to, track, monotonic, builder);
    CheckChunk(builder.Finish({}));
  }
  adopted.Push();
  return 0;
}
