// The threads of a trace file: what its (pid, tid) pairs are called, which tracks they have, and
// the spans whose begin and end are separate events. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/importers/chrome/document.h"
#include "analyzer/importers/chrome/text_table.h"
#include "analyzer/importers/foreign/run_builder.h"

namespace stallscope::importers::chrome {

// A "B" without its "E" so far.
struct OpenSpan {
  std::string name;
  uint16_t span_class = 0;
  int64_t start_ns = 0;
};

struct Lane {
  uint32_t process = 0;  // of Lanes
  std::string thread;    // its tid
  std::string name;
  std::string_view shows = "";  // what else than calls, behind its name: "annotations"
  TrackId detail;               // None until it is needed, like the next
  TrackId accounted;
  std::vector<OpenSpan> open;
  int64_t last_ns = 0;
};

struct Process {
  std::string id;  // its pid
  std::string name;
};

class Lanes {
 public:
  explicit Lanes(RunBuilder& builder)
      : builder_(builder),
        process_numbers_(builder.allowance()),
        lane_numbers_(builder.allowance()) {}

  uint32_t ProcessOf(std::string_view pid);
  // The number of a lane; numbers compare faster than texts.
  uint32_t Of(std::string_view pid, std::string_view tid);
  Lane& operator[](uint32_t lane) { return lanes_[lane]; }
  Process& process(uint32_t number) { return processes_[number]; }
  size_t size() const { return lanes_.size(); }

  // The track of what a thread did operation by operation, and the one that is accounted to stages.
  TrackId Detail(uint32_t lane);
  TrackId Accounted(uint32_t lane);
  // "B" and "E". An end without a name is the innermost span's.
  void Begin(uint32_t lane, std::string_view name, uint16_t span_class, int64_t time_ns);
  void End(uint32_t lane, std::string_view name, int64_t time_ns);
  // Ends what is still open at the last time seen on its thread.
  void Close();
  // Names the tracks once all names are known.
  void NameTracks();

 private:
  std::string NameOf(const Lane& lane) const;

  RunBuilder& builder_;
  std::vector<Process> processes_;
  std::vector<Lane> lanes_;
  TextTable process_numbers_;
  TextTable lane_numbers_;
  std::string key_;
};

// Asynchronous events, which begin and end on any thread: "b" and "e", and their predecessors "S"
// and "F".
class AsyncSpans {
 public:
  AsyncSpans(RunBuilder& builder, Lanes& lanes) : builder_(builder), lanes_(lanes) {}

  void Begin(const Event& event, uint16_t span_class, int64_t time_ns);
  void End(const Event& event, int64_t time_ns);
  // Ends what is still open at the last time seen.
  void Close();

 private:
  struct Open {
    TrackId track;
    uint16_t span_class = 0;
    int64_t start_ns = 0;
  };
  TrackId TrackOf(const Event& event);

  RunBuilder& builder_;
  Lanes& lanes_;
  std::map<std::string, std::vector<Open>> open_;  // by category, id and process
  std::map<std::string, TrackId> tracks_;          // by process and category
  size_t count_ = 0;                               // that are open
  int64_t last_ns_ = 0;
};

}  // namespace stallscope::importers::chrome
