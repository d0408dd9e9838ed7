// A tree of the kernel's files made for a test, and what a source finds in it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "collectors/system/source.h"
#include "tests/support/paths.h"

namespace stallscope::test {

class KernelTree {
 public:
  const std::string& root() const { return folder_.path(); }
  // Makes the folders on the way. `path` begins with a slash.
  void Write(const std::string& path, const std::string& content) const;
  void MakeFolder(const std::string& path) const;
  void Remove(const std::string& path) const;

 private:
  ScratchDir folder_;
};

// Keeps the last value of each counter.
class Readings : public system::CounterSink {
 public:
  CounterId Define(const std::string& name, const std::string& unit) override;
  void Put(CounterId counter, double value) override;

  bool Has(const std::string& name) const { return values_.contains(name); }
  // Fails the case where there is no such counter.
  double operator[](const std::string& name) const;
  size_t size() const { return values_.size(); }
  int puts() const { return puts_; }
  const std::map<std::string, std::string>& units() const { return units_; }

 private:
  std::vector<std::string> names_;
  std::map<std::string, double> values_;
  std::map<std::string, std::string> units_;
  int puts_ = 0;
};

// One complete reading.
Readings ReadAll(system::Source& source);

// The reason that the source gives for a counter's absence; empty where it gives none.
std::string WhyAbsent(const system::Source& source, const std::string& counter);

}  // namespace stallscope::test
