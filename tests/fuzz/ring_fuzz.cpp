// Any ring and any names file: adopted, read, checked and drained as those of a job. The input is
// the length of the ring (4 bytes), its header's first 136 bytes and its slots, and behind it the
// names.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
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

// A folder in memory for the life of the target.
struct FuzzFolder {
  std::string path = "/dev/shm/stallscope-ring-fuzz-" + std::to_string(getpid());
  int fd = -1;
  FuzzFolder() {
    std::filesystem::create_directory(path);
    fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  ~FuzzFolder() { std::filesystem::remove_all(path); }

  void Put(const std::string& name, std::string_view bytes) const {
    const int file = openat(fd, name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    STALLSCOPE_EXPECT(write(file, bytes.data(), bytes.size()) ==
                      static_cast<ssize_t>(bytes.size()));
    close(file);
  }
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
  static const FuzzFolder folder;
  if (size < 4) return 0;
  uint32_t length = 0;
  std::memcpy(&length, data, sizeof length);
  const std::string_view rest(reinterpret_cast<const char*>(data) + 4, size - 4);
  const std::string_view ring = rest.substr(0, std::min<size_t>(length, rest.size()));
  const std::string name = kProcess.Text() + ".8.0.ring";
  constexpr size_t kHeaderWords = 136;
  std::string file(ring.substr(0, kHeaderWords));
  file.resize(recorder::Ring::kHeaderBytes);
  file += ring.substr(std::min(kHeaderWords, ring.size()));
  folder.Put(name, file);
  folder.Put(recorder::NamesFileOf(kProcess), rest.substr(ring.size()));

  recorder::DefinitionTable table{trace::RunInfo{}};
  job::JobNames names(table, folder.fd);
  const auto process = names.ProcessOf(kProcess);
  const recorder::IdMap& ids = process->CatchUp();
  trace::ChunkBuilder builder(table);
  const trace::Definitions defined = table.TakeNew();
  if (defined.run) builder.Define(*defined.run);
  CheckChunk(builder.Finish({}));

  auto opened = recorder::AdoptedRing::Open(folder.fd, name);
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
