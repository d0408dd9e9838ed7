// What a trace file says beside its events: the devices, the ranks, the clock. Any thread.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_CHROME_HEAD_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_CHROME_HEAD_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace stallscope::importers::chrome {

struct DeviceProperties {
  std::string name;
  uint64_t memory_bytes = 0;
};

struct Head {
  std::string schema_version;
  std::string trace_name;
  std::string display_unit;
  std::string driver;
  std::optional<int64_t> base_time_ns;  // what the events' times count from, since the epoch
  std::map<uint32_t, DeviceProperties> devices;
  std::optional<uint32_t> rank;
  uint32_t world_size = 0;
  bool from_pytorch = false;  // it has members that only Kineto writes
  bool from_tensorflow = false;

  static bool Wants(std::string_view key);
  // Takes a member's JSON; what it has no use for it leaves.
  enum class Taken : uint8_t { kYes, kTooLong, kMalformed };
  Taken Take(std::string_view key, std::string_view value);
  // Of a member; a hundred devices take 100 KB.
  static constexpr size_t kMostMemberBytes = size_t{1} << 20;
};

}  // namespace stallscope::importers::chrome

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_CHROME_HEAD_H_
