#include "analyzer/importers/foreign/gzip_source.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <utility>

#include "analyzer/base/column.h"
#include "analyzer/base/thread.h"
#include "analyzer/importers/foreign/inflater.h"

namespace stallscope::importers {
namespace {

class GzipSource final : public ByteSource {
 public:
  GzipSource(InputFile file, uint64_t size, const UnpackLimits& limits)
      : ByteSource(file.path(), true, size), inflater_(std::move(file)), limits_(limits) {
    for (Block& block : blocks_) block.bytes.resize(kBlockBytes);
  }
  ~GzipSource() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.Join();
  }

  Status Start() {
    STALLSCOPE_RETURN_IF_ERROR(thread_.Start([this] { Inflate(); },
                                             [this](Error error) {
                                               {
                                                 const std::lock_guard lock(mutex_);
                                                 Block& block = blocks_[made_++ % kBlocks];
                                                 block.error = std::move(error);
                                                 block.last = true;
                                               }
                                               changed_.notify_all();
                                             }));
    const Block& first = Front();
    if (first.error) return *first.error;
    head_.assign(first.bytes.data(), std::min(first.size, kHeadBytes));
    if (first.size == 0 && damage_) {
      return Error{ErrorKind::kInput, damage_->what, path(), "copy the file again"};
    }
    return {};
  }

  Result<size_t> Read(char* into, size_t size) override {
    size_t filled = 0;
    while (filled < size) {
      Block& block = Front();
      if (block.error) return *block.error;
      const size_t part = std::min(size - filled, block.size - taken_);
      std::memcpy(into + filled, block.bytes.data() + taken_, part);
      filled += part;
      taken_ += part;
      if (taken_ < block.size) break;
      if (block.last) break;
      PopFront();
    }
    return filled;
  }

  std::optional<PackedDamage> Damage() const override {
    const std::lock_guard lock(mutex_);
    if (!damage_) return std::nullopt;
    // A file that breaks off has no bytes behind that, and has lost some all the same.
    const uint64_t behind = file_bytes() - std::min(file_bytes(), damage_->offset);
    return PackedDamage{damage_->what, damage_->offset, behind};
  }

 private:
  static constexpr size_t kBlocks = 6;
  struct Block {
    Column<char> bytes;
    size_t size = 0;
    bool last = false;
    std::optional<Error> error;
  };

  // Waits for the oldest block.
  Block& Front() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return made_ > used_; });
    return blocks_[used_ % kBlocks];
  }
  void PopFront() {
    {
      const std::lock_guard lock(mutex_);
      ++used_;
    }
    taken_ = 0;
    changed_.notify_all();
  }

  bool OverTheLimit() const {
    const uint64_t bytes = inflater_.unpacked();
    return bytes > limits_.bytes ||
           (bytes > limits_.ratio_from_bytes && bytes / limits_.ratio > inflater_.packed());
  }

  void Fill(Block& block) {
    Result<size_t> got = inflater_.Read(block.bytes.data(), block.bytes.size());
    if (!got.ok()) {
      block.error = std::move(got).error();
    } else if (OverTheLimit()) {
      block.error = Error{ErrorKind::kInput,
                          "this gzip file unpacks to more than a trace does: " +
                              std::to_string(inflater_.unpacked() >> 20) + " MiB so far, from " +
                              std::to_string(inflater_.packed() >> 10) + " KiB",
                          path(), "unpack it yourself if you trust it"};
    } else {
      block.size = got.value();
    }
    block.last = block.error || block.size < block.bytes.size();
  }

  void Inflate() {
    for (uint64_t i = 0;; ++i) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stop_ || i < used_ + kBlocks; });
        if (stop_) return;
      }
      Block& block = blocks_[i % kBlocks];
      Fill(block);
      const bool last = block.last;
      {
        const std::lock_guard lock(mutex_);
        made_ = i + 1;
        damage_ = inflater_.damage();
      }
      changed_.notify_all();
      if (last) return;
    }
  }

  Inflater inflater_;  // the thread's
  const UnpackLimits limits_;
  std::array<Block, kBlocks> blocks_;  // those in [used_, made_) are the reader's
  size_t taken_ = 0;                   // of the oldest block
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t made_ = 0;
  uint64_t used_ = 0;
  bool stop_ = false;
  std::optional<Inflater::Fault> damage_;
  ThreadGroup thread_;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> OpenGzip(InputFile file, uint64_t size,
                                             const UnpackLimits& limits) {
  auto source = std::make_unique<GzipSource>(std::move(file), size, limits);
  STALLSCOPE_RETURN_IF_ERROR(source->Start());
  return std::unique_ptr<ByteSource>(std::move(source));
}

}  // namespace stallscope::importers
