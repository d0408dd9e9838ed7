// Rings in files: made by the process that writes them, drained by another one (RING.md).
//
// The reader believes nothing. It never maps the file, so one that shrinks is a short read, and it
// copies what was published into a ring of its own, which is drained like any other. An object
// belongs to one thread at a time, but for Filling().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/base/result.h"
#include "collectors/recorder/ring.h"

namespace stallscope::recorder {

// A process, told apart from a later one with the same number.
struct ProcessKey {
  uint64_t pid = 0;
  uint64_t start = 0;  // ticks since the machine was started
  auto operator<=>(const ProcessKey&) const = default;
  std::string Text() const;  // "<pid>.<start>"
};
// The key that a text begins with, and cuts it off, with the dot behind it.
std::optional<ProcessKey> TakeProcessKey(std::string_view& text);
// Field 22 of /proc/<pid>/stat, and the pid; nothing if the process is gone.
std::optional<ProcessKey> ReadProcessKey(uint64_t pid);
std::string NamesFileOf(const ProcessKey& process);

struct RingOwner {
  ProcessKey process;
  uint64_t tid = 0;
  uint64_t track_plus_1 = 0;
  TickSource ticks = TickSource::kMonotonic;
};

// A new ring in `folder`, reserved, faulted in and visible to the drain. `number` makes its name
// unique in its thread.
Result<std::unique_ptr<Ring>> CreateRingFile(const std::string& folder, const RingOwner& owner,
                                             uint64_t number, size_t slots);

// The bytes of a ring's file, or in tests a piece of memory.
class RingBytes {
 public:
  virtual ~RingBytes() = default;
  // Empty if it is not a file.
  virtual std::optional<uint64_t> Length() const = 0;
  // All of them, or false.
  virtual bool Read(uint64_t offset, void* to, size_t bytes) const = 0;
  virtual void Write(uint64_t offset, const void* from, size_t bytes) = 0;
  virtual void Remove() = 0;
};

class AdoptedRing {
 public:
  static constexpr uint64_t kMostSlots = uint64_t{1} << 20;

  // `name` in the folder that `folder` is a descriptor of, which must outlive the object. kRun:
  // no descriptors are left, try again later; kInput: not a ring.
  static Result<std::unique_ptr<AdoptedRing>> Open(int folder, const std::string& name);
  static Result<std::unique_ptr<AdoptedRing>> Open(std::unique_ptr<RingBytes> bytes,
                                                   const std::string& name);
  AdoptedRing(const AdoptedRing&) = delete;
  AdoptedRing& operator=(const AdoptedRing&) = delete;

  const RingOwner& owner() const { return owner_; }
  // An eighth of it is waiting. Any thread.
  bool Filling() const;

  // Copies what was published since the last call. From Tail() to Published() of `ring` it is then
  // as the other process wrote it; nobody has checked the events.
  // `last`: its writer is gone.
  void Pull(bool last);
  Ring& ring() { return ring_; }
  Slot& SlotAt(uint64_t index) { return ring_.slots_[index & ring_.mask_]; }
  // The writer had closed it before the last Pull().
  bool closed() const { return closed_; }
  // Slots that could not be read: at most that many events.
  uint64_t skipped() const { return skipped_; }
  // Tells the writer how far ring() has been drained.
  void Push();
  // Removes the file; the writer may go on, for nobody.
  void Remove() { bytes_->Remove(); }

 private:
  AdoptedRing(std::unique_ptr<RingBytes> bytes, const RingOwner& owner, uint64_t slots);
  bool CopySlots(uint64_t from, uint64_t to);

  const std::unique_ptr<RingBytes> bytes_;
  const RingOwner owner_;
  Ring ring_;
  bool closed_ = false;
  bool doubted_ = false;  // what was published made no sense the last time
  uint64_t skipped_ = 0;
};

}  // namespace stallscope::recorder
