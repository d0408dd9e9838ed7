#include "collectors/recorder/ring_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

namespace stallscope::recorder {
namespace {

constexpr uint64_t kRingMagic = 0x474e'4952'5453'5389;  // \x89SSTRING
constexpr uint64_t kRingVersion = 1;
constexpr uint64_t kFewestSlots = 16;
// What a counter of another process can have reached: sums of these do not overflow.
constexpr uint64_t kMostCounted = uint64_t{1} << 48;

Error RingError(ErrorKind kind, const std::string& where, int error) {
  return {kind, std::strerror(error), where, ""};
}
Error NotARing(const std::string& name, const char* why) {
  return {ErrorKind::kInput, why, name, ""};
}

bool IsRingSize(uint64_t slots) {
  return std::has_single_bit(slots) && slots >= kFewestSlots && slots <= AdoptedRing::kMostSlots;
}
uint64_t OffsetOf(uint64_t place) { return Ring::kHeaderBytes + place * sizeof(Slot); }

std::optional<uint64_t> TakeDecimal(std::string_view& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto length = static_cast<size_t>(end - text.data());
  if (error != std::errc() || length == text.size() || *end != '.') return std::nullopt;
  text.remove_prefix(length + 1);
  return value;
}

// "<pid>.<start>.<tid>.<n>.ring"
std::optional<RingOwner> OwnerInName(std::string_view name) {
  const auto process = TakeProcessKey(name);
  const auto tid = TakeDecimal(name);
  const auto number = TakeDecimal(name);
  if (!process || !tid || !number || name != "ring") return std::nullopt;
  return RingOwner{*process, *tid, 0, TickSource::kMonotonic};
}

// The words before the producer's line.
using Facts = std::array<uint64_t, 8>;
// And those of the producer.
struct ProducerWords {
  uint64_t published, dropped, gap_from, gap_to, gap_dropped, closed;
};

template <class Words>
bool ReadWords(const RingBytes& bytes, size_t offset, Words& words) {
  return bytes.Read(offset, &words, sizeof words);
}

class FileBytes final : public RingBytes {
 public:
  FileBytes(int folder, std::string name, int fd)
      : folder_(folder), name_(std::move(name)), fd_(fd) {}
  ~FileBytes() override { close(fd_); }
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  std::optional<uint64_t> Length() const override {
    struct stat about;
    if (fstat(fd_, &about) != 0 || !S_ISREG(about.st_mode)) return std::nullopt;
    return static_cast<uint64_t>(about.st_size);
  }
  bool Read(uint64_t offset, void* to, size_t bytes) const override {
    return pread(fd_, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
  }
  void Write(uint64_t offset, const void* from, size_t bytes) override {
    // The writer drops and counts what has no room if this fails.
    [[maybe_unused]] const ssize_t written = pwrite(fd_, from, bytes, static_cast<off_t>(offset));
  }
  void Remove() override { unlinkat(folder_, name_.c_str(), 0); }

 private:
  const int folder_;
  const std::string name_;
  const int fd_;
};

}  // namespace

std::string ProcessKey::Text() const { return std::to_string(pid) + "." + std::to_string(start); }

std::optional<ProcessKey> TakeProcessKey(std::string_view& text) {
  std::string_view rest = text;
  const auto pid = TakeDecimal(rest);
  const auto start = TakeDecimal(rest);
  if (!pid || !start) return std::nullopt;
  text = rest;
  return ProcessKey{*pid, *start};
}

std::optional<ProcessKey> ReadProcessKey(uint64_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  char text[1024];
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  if (got <= 0) return std::nullopt;
  text[got] = '\0';
  // The name in brackets may hold anything; behind it the start is the 20th word.
  const char* at = std::strrchr(text, ')');
  for (int word = 0; at != nullptr && word < 20; ++word) {
    at = std::strchr(at + 1, ' ');
  }
  if (at == nullptr) return std::nullopt;
  return ProcessKey{pid, std::strtoull(at + 1, nullptr, 10)};
}

std::string NamesFileOf(const ProcessKey& process) { return process.Text() + ".names"; }

Result<std::unique_ptr<Ring>> CreateRingFile(const std::string& folder, const RingOwner& owner,
                                             uint64_t number, size_t slots) {
  const std::string name = owner.process.Text() + "." + std::to_string(owner.tid) + "." +
                           std::to_string(number) + ".ring";
  const std::string hidden = folder + "/." + name;
  const size_t bytes = Ring::kHeaderBytes + slots * sizeof(Slot);
  // Past the limit the kernel does not only say no: it kills.
  rlimit longest{};
  if (getrlimit(RLIMIT_FSIZE, &longest) == 0 && longest.rlim_cur < bytes) {
    return RingError(ErrorKind::kRun, hidden, EFBIG);
  }
  const int fd = open(hidden.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return RingError(ErrorKind::kRun, hidden, errno);
  // Reserved, not just made long: a store into a page that the disk has no room for is SIGBUS.
  const int full = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  void* const memory =
      full != 0 ? MAP_FAILED
                : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  const int error = full != 0 ? full : errno;
  close(fd);
  if (memory == MAP_FAILED) {
    unlink(hidden.c_str());
    return RingError(ErrorKind::kRun, hidden, error);
  }
  auto* const header = new (memory) RingHeader;
  header->magic = kRingMagic;
  header->version = kRingVersion;
  header->slots = slots;
  header->pid = owner.process.pid;
  header->tid = owner.tid;
  header->start = owner.process.start;
  header->tick_source = static_cast<uint64_t>(owner.ticks);
  header->track_plus_1 = owner.track_plus_1;
  auto ring = std::make_unique<Ring>(*header);
  if (rename(hidden.c_str(), (folder + "/" + name).c_str()) != 0) {
    const int failed = errno;
    unlink(hidden.c_str());
    return RingError(ErrorKind::kRun, folder + "/" + name, failed);
  }
  return ring;
}

Result<std::unique_ptr<AdoptedRing>> AdoptedRing::Open(int folder, const std::string& name) {
  // Whatever the job has put there: not a pipe that never opens, not a way out of the folder.
  const int fd = openat(folder, name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) {
    const bool later = errno == EMFILE || errno == ENFILE || errno == ENOMEM;
    return RingError(later ? ErrorKind::kRun : ErrorKind::kInput, name, errno);
  }
  return Open(std::make_unique<FileBytes>(folder, name, fd), name);
}

Result<std::unique_ptr<AdoptedRing>> AdoptedRing::Open(std::unique_ptr<RingBytes> bytes,
                                                       const std::string& name) {
  const auto named = OwnerInName(name);
  if (!named) return NotARing(name, "the name is not a ring's");
  const auto length = bytes->Length();
  Facts facts{};
  const bool readable = length.has_value() && ReadWords(*bytes, 0, facts);
  const auto [magic, version, slots, pid, tid, start, ticks, track] = facts;
  const char* wrong = nullptr;
  if (!readable || magic != kRingMagic) {
    wrong = "not a ring";
  } else if (version != kRingVersion) {
    wrong = "an unknown version";
  } else if (!IsRingSize(slots) || *length != OffsetOf(slots)) {
    wrong = "a length that does not fit its slots";
  } else if (pid != named->process.pid || start != named->process.start || tid != named->tid) {
    wrong = "another thread's name";
  } else if (ticks > static_cast<uint64_t>(TickSource::kTsc) || (ticks != 0 && !TicksAreTsc())) {
    wrong = "an unknown clock";
  }
  if (wrong != nullptr) return NotARing(name, wrong);
  RingOwner owner = *named;
  owner.track_plus_1 = track;
  owner.ticks = static_cast<TickSource>(ticks);
  std::unique_ptr<AdoptedRing> ring(new AdoptedRing(std::move(bytes), owner, slots));
  if (!ring->ring_.ok()) return RingError(ErrorKind::kRun, name, ENOMEM);
  return ring;
}

AdoptedRing::AdoptedRing(std::unique_ptr<RingBytes> bytes, const RingOwner& owner, uint64_t slots)
    : bytes_(std::move(bytes)), owner_(owner), ring_(slots, Ring::Fault::kLater) {}

bool AdoptedRing::Filling() const {
  uint64_t published = 0;
  if (!ReadWords(*bytes_, offsetof(RingHeader, published), published)) return false;
  return (published - ring_.Published()) * 8 > ring_.capacity();
}

void AdoptedRing::Pull(bool last) {
  ProducerWords words{};
  if (!ReadWords(*bytes_, offsetof(RingHeader, published), words)) return;
  closed_ = words.closed != 0;
  RingHeader& to = *ring_.header_;
  to.dropped.store(std::min(words.dropped, kMostCounted), std::memory_order_relaxed);
  to.gap_from.store(words.gap_from, std::memory_order_relaxed);
  to.gap_to.store(words.gap_to, std::memory_order_relaxed);
  to.gap_dropped.store(std::min(words.gap_dropped, kMostCounted), std::memory_order_relaxed);

  const uint64_t before = ring_.Published();
  const uint64_t fresh = words.published - before;  // of an earlier number: very many
  if (fresh <= ring_.capacity() - (before - ring_.Tail()) && CopySlots(before, words.published)) {
    to.published.store(words.published, std::memory_order_relaxed);
    doubted_ = false;
    return;
  }
  // Stores of 8 bytes may be torn by a writer that does not know better: look again before it
  // counts as damage.
  if (!std::exchange(doubted_, true) && !last && !closed_) return;
  skipped_ += std::min({fresh, kMostCounted - std::min(skipped_, kMostCounted), kMostSlots});
  to.published.store(words.published, std::memory_order_relaxed);
  to.tail.store(words.published, std::memory_order_relaxed);
  Push();
}

bool AdoptedRing::CopySlots(uint64_t from, uint64_t to) {
  const uint64_t mask = ring_.mask_;
  while (from != to) {
    const uint64_t place = from & mask;
    const uint64_t count = std::min(to - from, ring_.capacity() - place);
    if (!bytes_->Read(OffsetOf(place), ring_.slots_ + place, count * sizeof(Slot))) return false;
    from += count;
  }
  return true;
}

void AdoptedRing::Push() {
  const uint64_t tail = ring_.Tail();
  bytes_->Write(offsetof(RingHeader, tail), &tail, sizeof tail);
}

}  // namespace stallscope::recorder
