#include "analyzer/report/trust.h"

#include "analyzer/report/layout.h"
#include "analyzer/words/words.h"

namespace stallscope::report {

std::string TrustLine(const model::Run& run) {
  const model::DataQuality& quality = run.quality;
  const std::string spans = words::Grouped(model::CountSpans(run)) + " spans";
  if (quality.Complete()) return "complete: " + spans + ", none dropped, no damage";
  std::string line = "incomplete: " + spans + " read";
  if (quality.dropped != 0) line += ", " + words::Grouped(quality.dropped) + " events dropped";
  if (quality.damaged_bytes != 0) {
    line += ", " + words::Bytes(quality.damaged_bytes) + " damaged";
  }
  if (quality.missing_frames != 0) {
    line += ", " + words::Grouped(quality.missing_frames) + " frames missing";
  }
  if (quality.left_out != 0) {
    line += ", " + words::Grouped(quality.left_out) + (quality.left_out == 1 ? " part" : " parts") +
            " left out";
  }
  if (quality.cut_at) line += ", cut off at its end";
  if (!quality.write_error.empty()) {
    line += run.imported() ? ", imported from an incomplete file" : ", writing failed";
  }
  if (!quality.sealed) line += ", not sealed (still recording, or the recorder died)";
  return line;
}

}  // namespace stallscope::report
