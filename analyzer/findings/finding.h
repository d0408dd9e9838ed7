// One rule's conclusion, and what to do about it. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/attribution/attribution.h"
#include "analyzer/findings/source_change.h"
#include "analyzer/spec/patch.h"

namespace stallscope::findings {

enum class Severity : uint8_t { kInfo, kLow, kMedium, kHigh };
std::string_view WordFor(Severity severity);

// Something in the trace that a viewer can show.
struct Evidence {
  enum class Kind : uint8_t { kSpans, kQueue, kCounter, kStep, kKernel, kCopy };
  Kind kind = Kind::kSpans;
  StageId stage;
  TrackId track;
  QueueId queue;
  CounterId counter;
  ItemId item;
  std::optional<uint64_t> step;
  int64_t start_ns = 0;  // both 0: the whole window
  int64_t end_ns = 0;
  std::string text;  // "decode: 2 workers busy 98% of the time"
};

// A factor on the throughput: 1.8 is 80% more.
struct Gain {
  double predicted = 1;
  double low = 1;  // of the 90% interval
  double high = 1;
};

// The gain that replays of a change found: all that were made of it, taken together.
struct Measurement {
  double factor = 1;
  double low = 1;  // by the intervals of both sides, and never narrower than what replays found
  double high = 1;
  unsigned runs = 0;      // with the change
  std::string disturbed;  // why it may be off: "its runs differ by 31.0%"; empty: nothing was seen
  // The gain of the run that filled the store which these runs read.
  std::optional<double> first_run;
};

// The same change in the user's own framework; empty if it has none.
struct Code {
  std::string tf_data;
  std::string pytorch;
  std::string dali;
  std::string grain;
};

// What a change improves. One for speed whose interval includes 1.0 is not worth showing; one that
// saves memory or improves the results is, whatever its gain.
enum class Aim : uint8_t { kSpeed, kMemory, kQuality };
std::string_view WordFor(Aim aim);

struct Recommendation {
  Aim aim = Aim::kSpeed;
  std::string text;  // "set decode.parallelism to 2"
  Patch patch;       // empty: no knob
  // The patch changes the stages that a replay emulates for an imported run: not for its author,
  // who has no spec.
  bool of_stages = false;
  std::optional<Gain> gain;
  std::optional<Measurement> measured;  // also of an unpriced one
  std::string unpriced;                 // why there is no gain, and what to record to get one
  bool ranged = false;                  // `unpriced` is a range of gains
  // Only a run tells: what this is about is one thing among many, and a simulation, which draws
  // from all of them, does not see it.
  bool only_measured = false;
  // A change of code alone: worth knowing even if it gains no more than noise.
  bool costs_nothing = false;
  // What the gain takes for granted, each with the knob that it is about: to be printed beside it.
  std::vector<std::string> assumptions;
  std::optional<int64_t> memory_bytes;  // that it costs; negative if it frees some
  Code code;
};

// A place in the user's own code; no file: unknown.
struct CodePlace {
  std::string file;
  uint32_t line = 0;
  CodeExtent extent = {};
};

struct Finding {
  std::string id;  // "map-parallelism"
  Severity severity = Severity::kInfo;
  StageId stage;     // None: of the whole run
  double share = 0;  // of step time that it is about
  std::string text;
  std::vector<Evidence> evidence;
  std::optional<Recommendation> recommendation;
  CodePlace where;  // the place to change, or the one that takes the time
  std::vector<SourceChange>
      changes;  // the recommendation's patch, as changes of the user's own files
  // Worth reporting even if its recommendation turns out to bring nothing.
  bool stands_alone = false;
  // Its change shortens what the verdict names: such findings come first.
  bool on_bound = false;
  bool on_stage = false;  // and it is about the stage that the verdict names
  bool alters = false;    // its change alters what is trained
  // Reported only if no other finding recommends something against what the verdict names.
  bool last_resort = false;
};

}  // namespace stallscope::findings
