// Steps and stages from the ranges that a program marks (NVTX), by their texts.
//
//  - Ranges with a step's text ("step 12", "ProfilerStep#3", "iteration 7") are the steps of the
//    thread that marks most of them.
//  - On that thread, a range that fetches a batch ("data loading", "next batch") is a wait for it;
//    ranges inside are stages whose work the thread does itself.
//  - Ranges on threads that launch nothing on a device are stages that work for the loader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/importers/foreign/run_builder.h"

namespace stallscope::importers::nsys {

// "Train Step 12" -> "train step": in lower case, without numbers and the characters that join them
// to the text.
std::string RangeKey(std::string_view text);
// The last number in the text.
std::optional<uint64_t> RangeNumber(std::string_view text);

// How likely ranges of this key are steps of the trainer; 0: not at all. Of several kinds the
// likeliest counts: "ProfilerStep#3" before "step 3" before "iteration 3" before "batch 3".
int StepRank(std::string_view key);
// The trainer fetches a batch: "enumerate(DataLoader)", "data_loading", "next batch".
bool IsLoader(std::string_view key);
// An op that the framework itself marks, tens of thousands of times: "aten::copy_, op_id = 7".
bool IsFrameworkOp(std::string_view text);

struct Range {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t key = 0;  // in MarkedRanges::keys
  std::optional<uint64_t> number;
};

// A call in which a thread waited, as the operating system's library saw it.
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
  std::vector<std::string> texts;  // one of each, without the numbers at its end
  std::vector<MarkedThread> threads;
};

struct MarksSeen {
  std::vector<StepMark> steps;
  bool loader = false;  // a fetch of a batch is marked
};

// Sorts the ranges; adds tracks, stages and waits for those that matter.
MarksSeen AddMarkedRanges(MarkedRanges& marked, RunBuilder& builder);

}  // namespace stallscope::importers::nsys
