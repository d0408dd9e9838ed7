// What is selected, in words. Any thread.
#pragma once

#include <string>

#include "gui/session/state.h"

namespace stallscope::viewmodel {

// A place in the user's code.
struct PlaceText {
  std::string whole;  // "/home/u/train.py:12", to be copied; empty: unknown
  std::string brief;  // "train.py:12"
};
PlaceText PlaceOf(const std::string& file, uint32_t line);

struct SelectionModel {
  // "step 12 waited 41.2 ms (41,234,567 ns): decode cpu 80.0%, read io 20.0%", or the same of a
  // span or of an element that is followed; empty for nothing.
  std::string text;
  // Of a stall in a job, the process and the op that most of it led to: "worker 1 (pid 711): fetch
  // for 38.1 ms, of which Store.get 36.0 ms". Of a span in a job, its process. May be empty.
  std::string lead;
  PlaceText place;  // of the op
};
SelectionModel DescribeSelection(const session::State& state);

// "worker 1 (pid 711)"; empty for a thread of no job.
std::string ProcessOf(const model::Run& run, TrackId track);
// Of the span's op.
PlaceText PlaceOf(const model::Run& run, const session::IntervalRef& span);

// "decode waits (full)", or its name.
std::string SpanTitle(const session::SpanRow& row);

}  // namespace stallscope::viewmodel
