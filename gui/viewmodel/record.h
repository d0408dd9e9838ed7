// The recording panel: a spec with its errors, and the live recording. Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gui/session/state.h"

namespace stallscope::viewmodel {

struct KnobRow {
  std::string path;
  std::string value;
  bool changed = false;            // from the default
  std::vector<std::string> words;  // to choose from; empty: any text
  bool toggle = false;             // true or false
  std::string doc;
};

struct GaugeRow {
  std::string name;
  double fill = 0;   // 0 to 1
  std::string text;  // "3 of 16"
};

struct RecordModel {
  bool valid = false;
  std::string problem;   // one line; empty where the spec is valid
  int problem_line = 0;  // from 1; 0: not known
  int problem_column = 0;
  std::vector<KnobRow> knobs;
  std::vector<std::string> devices;
  std::string device;
  std::string output;
  bool running = false;
  bool stopping = false;
  bool can_start = false;
  std::string progress;  // "step 120 of 200"
  std::optional<double> done;
  std::string throughput;    // "1,230 samples/s"
  std::string stall;         // "12.1% of the time waiting for input"
  std::vector<float> rates;  // 0 to 1 of `rate_max`, oldest first
  double rate_max = 0;
  std::vector<GaugeRow> queues;
  std::string error;
  bool has_result = false;
};

RecordModel BuildRecord(const session::State& state);

}  // namespace stallscope::viewmodel
