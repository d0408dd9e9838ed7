// The events of one line from front to back, and their times in nanoseconds. ForEachEvent is the
// hot loop of the XPlane importer, so it is inline. One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/base/saturated.h"
#include "analyzer/importers/foreign/run_builder.h"
#include "analyzer/importers/xplane/space.h"
#include "analyzer/importers/xplane/wire.h"

namespace stallscope::importers::xplane {

struct Event {
  int64_t name = 0;  // in Plane::event_names
  int64_t offset_ps = 0;
  int64_t duration_ps = 0;
  bool aggregated = false;  // a sum over many, without a place in time
};

// The outcome of reading a line.
struct LineRead {
  uint64_t events = 0;
  uint64_t unreadable = 0;  // messages that are not an event
  uint64_t bad_from = 0;    // 0: the line was read to its end
};

constexpr uint32_t kEventField = 4;
constexpr uint64_t kMostEventBytes = uint64_t{16} << 20;
constexpr uint64_t kEventsBetweenChecks = 4'096;

inline bool ReadEvent(std::string_view message, const StatNames& names, Event& event,
                      EventStats& stats) {
  event = {};
  stats.Clear();
  WireReader reader(message);
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        event.name = reader.Signed();
        break;
      case 2:
        event.offset_ps = reader.Signed();
        break;
      case 3:
        event.duration_ps = reader.Signed();
        break;
      case 5:
        event.aggregated = true;
        break;
      case 4: {
        const std::string_view bytes = reader.Bytes();
        // A stat begins with its name, and most are of no interest.
        uint64_t id = 0;
        if (bytes.size() < 2 || bytes[0] != 0x08) break;
        if (ReadVarint(bytes.data() + 1, bytes.data() + bytes.size(), id) == nullptr) break;
        const StatName* name = names.Find(static_cast<int64_t>(id));
        if (name == nullptr || name->role == StatRole::kNone) break;
        const Stat stat = ReadStat(bytes);
        if (!stat.ok) return false;
        stats.Add(name->role, stat, names);
        break;
      }
      default:
        break;
    }
  }
  return reader.ok();
}

// Calls take(event, stats) for each; `stats` has those that have a role, with texts that are valid
// during the call. Fails if the disk does, or if the allowance is spent.
template <class Take>
Result<LineRead> ForEachEvent(SpaceBytes& bytes, const Line& line, const StatNames& names,
                              Take&& take) {
  constexpr size_t kHeadBytes = 20;
  LineRead read;
  Event event;
  EventStats stats;
  uint64_t offset = line.events_from;
  size_t least = kHeadBytes;
  while (offset < line.end) {
    STALLSCOPE_ASSIGN_OR_RETURN(std::string_view view, bytes.From(offset, least));
    if (view.size() < std::min<uint64_t>(least, line.end - offset)) {
      read.bad_from = offset;  // the file has become shorter
      return read;
    }
    const bool last = view.size() >= line.end - offset;
    view = view.substr(0, static_cast<size_t>(std::min<uint64_t>(view.size(), line.end - offset)));
    const char* const begin = view.data();
    const char* const end = begin + view.size();
    const char* at = begin;
    least = kHeadBytes;
    uint64_t skip = 0;  // past what is in view
    while (at < end && (last || static_cast<size_t>(end - at) >= kHeadBytes)) {
      uint64_t tag = 0;
      uint64_t length = 0;
      const char* from = ReadVarint(at, end, tag);
      if (from != nullptr && (tag & 7) <= 2 && (tag & 7) != 1) from = ReadVarint(from, end, length);
      if (from == nullptr || tag >> 3 == 0 || (tag & 7) == 1 || (tag & 7) > 2) {
        read.bad_from = offset + static_cast<uint64_t>(at - begin);
        return read;
      }
      if ((tag & 7) == 0) {
        at = from;
        continue;
      }
      const auto left = static_cast<uint64_t>(end - from);
      if (tag >> 3 != kEventField || length > kMostEventBytes) {
        if (tag >> 3 == kEventField) ++read.unreadable;
        skip = length > left ? length - left : 0;
        at = length > left ? end : from + length;
        continue;
      }
      if (length > left) {
        // Cut off by the end of the line, or of the window.
        if (last) {
          read.bad_from = offset + static_cast<uint64_t>(at - begin);
          return read;
        }
        least = static_cast<size_t>(from - at) + static_cast<size_t>(length);
        break;
      }
      if (ReadEvent({from, static_cast<size_t>(length)}, names, event, stats)) {
        ++read.events;
        // No profiler writes events of two bytes, but a file may, and the view may be all of it.
        if (read.events % kEventsBetweenChecks == 0) {
          STALLSCOPE_RETURN_IF_ERROR(bytes.CheckAllowance());
        }
        take(static_cast<const Event&>(event), static_cast<const EventStats&>(stats));
      } else {
        ++read.unreadable;
      }
      at = from + length;
    }
    offset += static_cast<uint64_t>(at - begin) + skip;
  }
  return read;
}

// ForEachEvent; what was wrong with the line goes to the builder.
template <class Take>
Status ReadLine(SpaceBytes& bytes, const Plane& plane, const Line& line, RunBuilder& builder,
                Take&& take) {
  STALLSCOPE_ASSIGN_OR_RETURN(const LineRead read,
                              ForEachEvent(bytes, line, plane.stat_names, take));
  if (read.unreadable != 0) {
    builder.LeaveOut("{event|events} could not be read: left out", read.unreadable);
  }
  if (read.bad_from != 0) {
    builder.Damaged(read.bad_from, line.end - read.bad_from,
                    "the rest of line '" + line.name + "' is damaged");
  }
  return {};
}

constexpr int64_t kPsPerNs = 1'000;

// Rounds down, so that an end that is the next event's start remains so.
constexpr int64_t FloorNs(int64_t ps) { return ps / kPsPerNs - (ps % kPsPerNs < 0 ? 1 : 0); }

// Lines count from 1970 or from the start of the recording, depending on the profiler. If a file
// has both, those since 1970 are shifted to match the others.
class TimeBase {
 public:
  explicit TimeBase(const std::vector<Plane>& planes);

  // The time of a line's offset 0.
  int64_t OriginNs(const Line& line) const {
    return IsEpoch(line.timestamp_ns) ? SaturatedSum(line.timestamp_ns, -epoch_shift_ns_)
                                      : line.timestamp_ns;
  }
  static int64_t StartNs(int64_t origin_ns, const Event& event) {
    return SaturatedSum(origin_ns, FloorNs(event.offset_ps));
  }
  static int64_t EndNs(int64_t origin_ns, const Event& event) {
    return SaturatedSum(origin_ns, FloorNs(SaturatedSum(event.offset_ps, event.duration_ps)));
  }
  // The file has lines of both kinds.
  bool mixed() const { return epoch_shift_ns_ != 0; }
  // How far the wall clock is ahead of the run's times, if the file says so.
  bool knows_realtime() const { return knows_realtime_; }
  int64_t realtime_ahead_ns() const { return realtime_ahead_ns_; }

 private:
  // Nobody records for three years on end, or did so in 1973.
  static constexpr int64_t kEpochFromNs = 100'000'000'000'000'000;
  static bool IsEpoch(int64_t ns) { return ns >= kEpochFromNs; }

  int64_t epoch_shift_ns_ = 0;
  bool knows_realtime_ = false;
  int64_t realtime_ahead_ns_ = 0;
};

}  // namespace stallscope::importers::xplane
