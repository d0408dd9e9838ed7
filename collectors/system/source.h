// Between the kernel's counters and the recorder: a source reads, a sink records.
//
// A source keeps its files open, so that a reading costs one pread per file, and allocates nothing
// once it has seen everything that it reports on. What cannot be read is absent, never zero, and
// the source keeps the reason. A source and its sink belong to one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/base/ids.h"
#include "collectors/system/counters.h"
#include "collectors/system/proc_file.h"

namespace stallscope::system {

class CounterSink {
 public:
  virtual ~CounterSink() = default;
  // Once for each counter, before its first value.
  virtual CounterId Define(const std::string& name, const std::string& unit) = 0;
  virtual void Put(CounterId counter, double value) = 0;
};

// A counter that is defined with its first value: one without values is absent.
class Counter {
 public:
  explicit Counter(const CounterRow& row, std::string_view instance = {})
      : row_(&row), instance_(instance) {}

  void Put(CounterSink& sink, double value) {
    if (!id_.known()) id_ = sink.Define(CounterName(*row_, instance_), row_->unit);
    sink.Put(id_, value);
  }
  void Put(CounterSink& sink, uint64_t value) { Put(sink, static_cast<double>(value)); }
  const CounterRow& row() const { return *row_; }

 private:
  const CounterRow* row_;
  std::string instance_;
  CounterId id_;
};

struct Absence {
  std::string counter;  // the name in the table
  std::string reason;
};

enum class Effort {
  kBounded,   // what one sample may cost
  kComplete,  // everything, as at the start and the end of a recording
};

class Source {
 public:
  // `period_ns`: how often it is worth reading.
  Source(std::string name, int64_t period_ns) : name_(std::move(name)), period_ns_(period_ns) {}
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  virtual void Read(CounterSink& sink, Effort effort) = 0;

  const std::string& name() const { return name_; }
  int64_t period_ns() const { return period_ns_; }
  // Known after the first Read(). One reason per counter: the first.
  const std::vector<Absence>& absences() const { return absences_; }

 protected:
  void Miss(const CounterRow& row, std::string_view reason) {
    if (!Missed(row)) absences_.push_back({row.name, std::string(reason)});
  }
  // The reason is what was wrong with `file`, formatted the first time only.
  void Miss(const CounterRow& row, const ProcFile& file) {
    if (!Missed(row)) absences_.push_back({row.name, file.problem()});
  }
  template <class Reason, class... Rows>
  void MissAll(const Reason& reason, const Rows&... rows) {
    (Miss(rows, reason), ...);
  }

 private:
  bool Missed(const CounterRow& row) const {
    for (const Absence& absence : absences_) {
      if (absence.counter == row.name) return true;
    }
    return false;
  }

  std::string name_;
  int64_t period_ns_;
  std::vector<Absence> absences_;
};

// A source whose counters are single numbers in files of the kernel.
class NumberSource : public Source {
 public:
  using Source::Source;
  void Read(CounterSink& sink, Effort effort) override;

 protected:
  using Find = std::optional<uint64_t> (*)(std::string_view text, std::string_view key);
  // The number follows `key` at the start of a line, or is all of the file where the key is empty.
  static std::optional<uint64_t> FindKey(std::string_view text, std::string_view key);
  // `factor` converts to the counter's unit. Numbers that are added one after the other and are in
  // the same file share one reading of it.
  void Add(const std::string& path, const CounterRow& row, const char* key, uint64_t factor = 1,
           Find find = FindKey);

 private:
  struct Number {
    const char* key;
    uint64_t factor;
    Find find;
    Counter counter;
  };
  struct File {
    std::string path;
    ProcFile file;
    std::vector<Number> numbers;
  };
  std::vector<File> files_;
};

}  // namespace stallscope::system
