// The categories that a step's time is split into, and the causes of a stall.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stallscope::attribution {

// By rank: an instant of a device belongs to the first one that is active.
enum class Category : uint8_t {
  kCompute,
  kCommunication,
  kTransfer,
  kLaunch,
  kInputStall,
  kSync,
  kOther
};
constexpr size_t kCategories = 7;

// In the order in which reports list them.
constexpr std::array<Category, kCategories> kReportOrder = {
    Category::kCompute,    Category::kTransfer, Category::kCommunication, Category::kLaunch,
    Category::kInputStall, Category::kSync,     Category::kOther};

// What delayed the stage that a stall is blamed on; METHOD.md has the rules.
enum class Cause : uint8_t {
  kIo,
  kLock,
  kBlocked,
  kCpuContention,
  kOrder,
  kCpu,
  kSerial,
  kBuffer,
  kStartup,
  kUnknown
};
constexpr size_t kCauses = 10;

// "input_stall", "cpu_contention": as in reports and budgets.
std::string_view WordFor(Category category);
std::string_view WordFor(Cause cause);

template <class T>
using PerCategory = std::array<T, kCategories>;

constexpr size_t At(Category category) { return static_cast<size_t>(category); }
constexpr size_t At(Cause cause) { return static_cast<size_t>(cause); }

}  // namespace stallscope::attribution
