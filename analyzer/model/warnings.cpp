#include "analyzer/model/warnings.h"

namespace stallscope::model {
namespace {

// More damaged places than these are summed up.
constexpr size_t kPlacesInWords = 3;

std::string Count(uint64_t count, const std::string& thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

// "12 steps before it were read"
std::string WhatWasRead(const Run& run) {
  const uint64_t steps = run.rows.steps.size();
  const uint64_t spans = CountSpans(run);
  const uint64_t count = steps != 0 ? steps : spans;
  return Count(count, steps != 0 ? "step" : "span") + " before it " +
         (count == 1 ? "was read" : "were read");
}

void WarnOfDamage(const Run& run, std::vector<std::string>& warnings) {
  const DataQuality& quality = run.quality;
  size_t told = 0;
  uint64_t bytes_told = 0;
  for (const trace::DamagedRange& range : quality.damaged_ranges) {
    const std::string where = run.path + ", offset " + std::to_string(range.offset) + ": ";
    if (quality.cut_at == range.offset) {
      warnings.push_back(where + "the file ends inside a frame; " + WhatWasRead(run));
    } else if (told < kPlacesInWords) {
      warnings.push_back(where + Count(range.length, "byte") + " could not be read (" +
                         range.reason + ")");
      ++told;
    } else {
      continue;
    }
    bytes_told += range.length;
  }
  if (bytes_told < quality.damaged_bytes) {
    warnings.push_back(run.path + ": " + Count(quality.damaged_bytes - bytes_told, "byte") +
                       " more could not be read in other places");
  }
  if (quality.missing_frames != 0) {
    warnings.push_back(run.path + ": " + Count(quality.missing_frames, "frame") +
                       (quality.missing_frames == 1 ? " is missing" : " are missing"));
  }
}

}  // namespace

void AddWarnings(const std::vector<std::string>& limit_warnings, Run& run) {
  const DataQuality& quality = run.quality;
  std::vector<std::string> warnings;
  WarnOfDamage(run, warnings);
  if (!quality.sealed) {
    warnings.push_back(run.path +
                       ": there is no seal: the recording did not end cleanly or still goes on");
  }
  if (quality.dropped != 0) {
    std::string line = run.path + ": " + std::to_string(quality.dropped);
    if (quality.emitted) line += " of " + std::to_string(*quality.emitted);
    warnings.push_back(line + " events were dropped while recording");
  }
  if (quality.emitted && *quality.emitted - *quality.stored != quality.dropped) {
    warnings.push_back(run.path + ": the seal's counts do not add up");
  }
  if (!quality.write_error.empty()) {
    warnings.push_back(run.path +
                       (run.imported() ? ": not all of the run is in this file: "
                                       : ": the recorder could not write all: ") +
                       quality.write_error);
  }
  for (const std::string& warning : limit_warnings) warnings.push_back(run.path + ": " + warning);
  for (const std::string& warning : run.info.warnings)
    warnings.push_back(run.path + ": " + warning);
  run.quality.warnings = std::move(warnings);
}

Error NothingReadable(const std::string& path, const DataQuality& quality) {
  uint64_t offset = 0;
  if (!quality.damaged_ranges.empty()) offset = quality.damaged_ranges.front().offset;
  return Error{ErrorKind::kInput,
               quality.cut_at ? "the file ends inside its first frame; nothing could be read"
                              : "no part of the trace could be read",
               path + ", offset " + std::to_string(quality.cut_at.value_or(offset)),
               "record the run again"};
}

}  // namespace stallscope::model
