// Steps and stages from the ranges that a program marks (NVTX). Private to the room.
//
//  - Ranges whose text is a step's ("step 12", "ProfilerStep#3", "iteration 7") are the steps of
//    the thread that marks most of them.
//  - On that thread, a range in which it fetches a batch ("data loading", "next batch") is a wait
//    for it; ranges inside are stages of which it does the work itself.
//  - Ranges on threads that launch nothing on a device are stages that work for the loader.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_NSYS_MARKED_RANGES_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_NSYS_MARKED_RANGES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/importers/foreign/run_builder.h"

namespace stallscope::importers::nsys {

struct Range {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t key = 0;  // in MarkedRanges::keys
  std::optional<uint64_t> number;
};

// A call in which a thread waited, by what the operating system's library knows of it.
struct SystemWait {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  trace::WaitCause cause = trace::WaitCause::kUnknown;
};

struct MarkedThread {
  std::string name;
  uint64_t number = 0;
  bool launches = false;  // work on a device
  std::vector<Range> ranges;
  std::vector<SystemWait> waits;
};

struct MarkedRanges {
  std::vector<std::string> keys;   // RangeKey() of their texts
  std::vector<std::string> texts;  // one of each, without its numbers at the end
  std::vector<MarkedThread> threads;
};

struct MarksSeen {
  std::vector<StepMark> steps;
  bool loader = false;  // a fetch of a batch is marked
};

// Sorts the ranges; adds tracks, stages and waits for those that take part.
MarksSeen AddMarkedRanges(MarkedRanges& marked, RunBuilder& builder);

}  // namespace stallscope::importers::nsys

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_NSYS_MARKED_RANGES_H_
