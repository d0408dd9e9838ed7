// Ranges around the work of stages, for another profiler running alongside: Nsight Systems shows
// them with the stages' names. Nothing is called where there are none.
#pragma once

namespace stallscope::pipeline {

// On the calling thread; ranges nest.
struct StageRanges {
  void (*begin)(const char* name) = nullptr;
  void (*end)() = nullptr;
};

// From here to the end of the scope.
class RangeScope {
 public:
  RangeScope(const StageRanges& ranges, const char* name) : end_(ranges.end) {
    if (ranges.begin != nullptr) ranges.begin(name);
  }
  ~RangeScope() {
    if (end_ != nullptr) end_();
  }
  RangeScope(const RangeScope&) = delete;
  RangeScope& operator=(const RangeScope&) = delete;

 private:
  void (*const end_)();
};

}  // namespace stallscope::pipeline
