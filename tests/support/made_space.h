// An XSpace put together by hand: what the profilers of TensorFlow and JAX would have to run for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/wire_bytes.h"

namespace stallscope::test {

class MadePlane {
 public:
  explicit MadePlane(std::string name) : name_(std::move(name)) {}

  std::string Number(const std::string& stat, uint64_t value) {
    return BytesField(4, NumberField(1, StatId(stat)) + NumberField(4, value));
  }
  std::string Text(const std::string& stat, std::string_view value) {
    return BytesField(4, NumberField(1, StatId(stat)) + BytesField(5, value));
  }
  // A text that stands among the names of stats.
  std::string Reference(const std::string& stat, const std::string& value) {
    return BytesField(4, NumberField(1, StatId(stat)) + NumberField(7, StatId(value)));
  }
  // Times in picoseconds. `stats`: of the above, one behind the other.
  std::string Event(const std::string& name, uint64_t offset, uint64_t duration,
                    const std::string& stats = "") {
    return BytesField(4, NumberField(1, EventId(name)) + NumberField(2, offset) +
                             NumberField(3, duration) + stats);
  }
  void Line(uint64_t id, const std::string& name, uint64_t timestamp_ns,
            const std::string& events) {
    lines_ += BytesField(
        3, NumberField(1, id) + BytesField(2, name) + NumberField(3, timestamp_ns) + events);
  }
  void PlaneNumber(const std::string& stat, uint64_t value) {
    stats_ += BytesField(6, NumberField(1, StatId(stat)) + NumberField(3, value));
  }
  void ShowAs(const std::string& name, const std::string& display_name) {
    display_names_[EventId(name)] = display_name;
  }
  uint64_t EventId(const std::string& name) { return IdOf(name, events_); }
  uint64_t StatId(const std::string& name) { return IdOf(name, stat_names_); }

  // As a field of the XSpace.
  std::string Bytes() const {
    std::string plane = BytesField(2, name_) + lines_;
    for (size_t i = 0; i < events_.size(); ++i) {
      std::string entry = NumberField(1, i + 1) + BytesField(2, events_[i]);
      const auto display = display_names_.find(i + 1);
      if (display != display_names_.end()) entry += BytesField(4, display->second);
      plane += BytesField(4, NumberField(1, i + 1) + BytesField(2, entry));
    }
    for (size_t i = 0; i < stat_names_.size(); ++i) {
      const std::string entry = NumberField(1, i + 1) + BytesField(2, stat_names_[i]);
      plane += BytesField(5, NumberField(1, i + 1) + BytesField(2, entry));
    }
    return BytesField(1, plane + stats_);
  }

 private:
  static uint64_t IdOf(const std::string& name, std::vector<std::string>& names) {
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return i + 1;
    }
    names.push_back(name);
    return names.size();
  }

  std::string name_;
  std::string lines_;
  std::string stats_;
  std::vector<std::string> events_;
  std::vector<std::string> stat_names_;
  std::map<uint64_t, std::string> display_names_;
};

}  // namespace stallscope::test
