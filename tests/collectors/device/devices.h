// Devices for tests: an emulated one goes by a clock that moves only when somebody waits.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "collectors/device/device.h"
#include "collectors/device/emulated_device.h"

namespace stallscope::test {

// A tick is a nanosecond. Every wait ends `late` after its time.
class TestClock : public device::DeviceClock {
 public:
  explicit TestClock(Ticks late = 0) : late_(late) {}
  Ticks Now() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return now_;
  }
  void WaitUntil(Ticks time) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (time > now_) now_ = time + late_;
  }
  double TicksPerNs() const override { return 1; }

 private:
  const Ticks late_;
  std::mutex mutex_;
  Ticks now_ = 1'000'000;
};

template <class T>
T Must(Result<T> result) {
  if (!result.ok()) FAIL(result.error().Line());
  return std::move(result).value();
}
inline void Must(const Status& status) {
  if (!status.ok()) FAIL(status.error().Line());
}

inline std::unique_ptr<device::Device> MakeTestDevice(device::Kind kind,
                                                      device::Options options = {}) {
  return Must(device::MakeDevice(kind, options));
}

// `count` values in device memory.
struct OnDevice {
  device::Block block;
  device::Operand operand;

  OnDevice(device::Device& on, int64_t count, device::Type type = device::Type::kFloat32)
      : block(Must(on.Allocate(static_cast<size_t>(count) * device::SizeOf(type)))),
        operand{block.address(), count, type} {}
};

template <class Value>
void Put(device::Stream& stream, const OnDevice& to, const std::vector<Value>& values) {
  device::CopyRequest copy;
  copy.device = to.block.address();
  copy.host = const_cast<Value*>(values.data());
  copy.bytes = values.size() * sizeof(Value);
  Must(stream.Copy(copy));
}

template <class Value>
std::vector<Value> Get(device::Stream& stream, const OnDevice& from) {
  std::vector<Value> values(from.block.bytes() / sizeof(Value));
  device::CopyRequest copy;
  copy.direction = trace::CopyDirection::kDeviceToHost;
  copy.device = from.block.address();
  copy.host = values.data();
  copy.bytes = from.block.bytes();
  Must(stream.Copy(copy));
  return values;
}

}  // namespace stallscope::test
