#include "tests/collectors/system/readings.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

namespace stallscope::test {

void KernelTree::Write(const std::string& path, const std::string& content) const {
  const std::filesystem::path whole = folder_.path() + path;
  std::filesystem::create_directories(whole.parent_path());
  // Truncates and keeps the file, so that whoever has it open sees the new text.
  std::ofstream(whole, std::ios::binary | std::ios::trunc) << content;
}

void KernelTree::MakeFolder(const std::string& path) const {
  std::filesystem::create_directories(folder_.path() + path);
}

void KernelTree::Remove(const std::string& path) const {
  std::filesystem::remove_all(folder_.path() + path);
}

CounterId Readings::Define(const std::string& name, const std::string& unit) {
  const system::CounterRow* row = system::FindCounter(name);
  REQUIRE_MESSAGE(row != nullptr, name << " is not in the table of counters");
  CHECK(unit == row->unit);
  CHECK_MESSAGE(!units_.contains(name), name << " is defined twice");
  units_[name] = unit;
  names_.push_back(name);
  return CounterId{static_cast<uint32_t>(names_.size() - 1)};
}

void Readings::Put(CounterId counter, double value) {
  ++puts_;
  values_[names_.at(counter.value)] = value;
}

double Readings::operator[](const std::string& name) const {
  const auto found = values_.find(name);
  REQUIRE_MESSAGE(found != values_.end(), name << " is absent");
  return found->second;
}

Readings ReadAll(system::Source& source) {
  Readings readings;
  source.Read(readings, system::Effort::kComplete);
  return readings;
}

std::string WhyAbsent(const system::Source& source, const std::string& counter) {
  for (const system::Absence& absence : source.absences()) {
    if (absence.counter == counter) return absence.reason;
  }
  return "";
}

}  // namespace stallscope::test
