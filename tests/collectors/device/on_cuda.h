// Cases that run on a GPU as they run without: the same body, twice registered.
//
//   DEVICE_CASE("a stream runs in order") { on_each([](device::Device& on) { ... }); }
//
// is a case on the host and the emulated device, and one called "..., on cuda", which is skipped,
// and says why, on a machine without a GPU. Where STALLSCOPE_TEST_CUDA is set it fails instead.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "collectors/device/device.h"
#include "tests/collectors/device/devices.h"

namespace stallscope::test {

// Whether a CUDA device can be made here; where not the case is skipped, and must return.
bool HasCuda();

// The devices that a case runs on.
struct OnEach {
  std::vector<device::Kind> kinds;

  template <class Check>
  void operator()(Check&& check, device::Options options = {}) const {
    for (const device::Kind kind : kinds) {
      CAPTURE(device::Name(kind));
      TestClock clock;
      options.clock = &clock;
      options.emulated.compute_us_per_sample = 10;
      const auto made = MakeTestDevice(kind, options);
      check(*made);
    }
  }
};

}  // namespace stallscope::test

// With `without`: the devices of the first of the two cases.
#define STALLSCOPE_DEVICE_CASE(function, title, ...)                                    \
  static void function(const ::stallscope::test::OnEach& on_each);                      \
  TEST_CASE(title) { function({{__VA_ARGS__}}); }                                       \
  TEST_CASE(title ", on cuda") {                                                        \
    if (::stallscope::test::HasCuda()) function({{::stallscope::device::Kind::kCuda}}); \
  }                                                                                     \
  static void function([[maybe_unused]] const ::stallscope::test::OnEach& on_each)

#define DEVICE_CASE(title)                                                                        \
  STALLSCOPE_DEVICE_CASE(DOCTEST_ANONYMOUS(DeviceCase), title, ::stallscope::device::Kind::kHost, \
                         ::stallscope::device::Kind::kEmulated)
// Of devices that compute.
#define COMPUTING_DEVICE_CASE(title) \
  STALLSCOPE_DEVICE_CASE(DOCTEST_ANONYMOUS(DeviceCase), title, ::stallscope::device::Kind::kHost)
