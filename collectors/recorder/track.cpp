#include "collectors/recorder/track.h"

#include <bit>

namespace stallscope::recorder {

using internal::Tag;
using internal::Word;

namespace internal {
constinit thread_local Track* current_track = nullptr;
}

void Track::Release(StageId stage, ItemId item, Ticks completed, Ticks released) noexcept {
  PutSpan(Tag::kRelease, stage.value & 0xffff, completed, released, item.value);
}

void Track::Lineage(StageId stage, ItemId in, ItemId out) noexcept {
  ring_->Put(NowTicks(), Slot{in.value, Word(Tag::kLineage, stage.value & 0xffff), out.value});
}

void Track::Batch(StageId stage, ItemId batch, uint32_t size, ItemId last_arrival,
                  trace::StringId shape, Ticks time) noexcept {
  ring_->Put(time, Slot{time, Word(Tag::kBatch, stage.value & 0xffff, size), batch.value},
             Slot{last_arrival.value, shape.value, 0});
}

void Track::Element(const trace::Element& element) noexcept {
  ring_->Put(NowTicks(),
             Slot{element.item.value, Word(Tag::kElement, 0, element.epoch), element.record},
             Slot{element.offset, element.bytes, element.file.value});
}

void Track::Cache(StageId stage, trace::CacheOp op, ItemId item, uint32_t epoch, uint64_t bytes,
                  Ticks time) noexcept {
  ring_->Put(time, Slot{time, Word(Tag::kCache, stage.value & 0xffff, epoch), item.value},
             Slot{bytes, static_cast<uint64_t>(op), 0});
}

void Track::Sample(CounterId counter, double value, Ticks time) noexcept {
  ring_->Put(time,
             Slot{time, Word(Tag::kSample, 0, counter.value), std::bit_cast<uint64_t>(value)});
}

void Track::Copy(const trace::Copy& copy) noexcept {
  const auto direction = static_cast<uint64_t>(copy.direction);
  const auto memory = static_cast<uint64_t>(copy.memory);
  const auto start = static_cast<Ticks>(copy.start_ns);
  const auto end = static_cast<Ticks>(copy.end_ns);
  ring_->Put(end,
             Slot{static_cast<Ticks>(copy.enqueued_ns), Word(Tag::kCopy, direction | memory << 8),
                  copy.batch.value},
             Slot{start, end, copy.bytes}, Slot{copy.correlation, 0, 0});
}

void Track::Kernel(const trace::Kernel& kernel) noexcept {
  const auto start = static_cast<Ticks>(kernel.start_ns);
  const auto end = static_cast<Ticks>(kernel.end_ns);
  ring_->Put(end,
             Slot{static_cast<Ticks>(kernel.enqueued_ns), Word(Tag::kKernel, 0, kernel.name.value),
                  kernel.batch.value},
             Slot{start, end, kernel.correlation}, Slot{kernel.graph, 0, 0});
}

void Track::Step(const trace::Step& step) noexcept {
  const auto done = static_cast<Ticks>(step.device_done_ns);
  ring_->Put(done,
             Slot{static_cast<Ticks>(step.requested_ns),
                  Word(Tag::kStep, step.loss_scale_skipped, step.samples), step.batch.value},
             Slot{static_cast<Ticks>(step.received_ns), static_cast<Ticks>(step.issued_ns), done},
             Slot{step.index, 0, 0});
}

}  // namespace stallscope::recorder
