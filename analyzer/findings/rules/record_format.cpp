// Row 1: text, one file an element, or a library's lock cost more to read than a record file.
#include <fmt/format.h>

#include "analyzer/findings/facts.h"
#include "analyzer/findings/rules/rules.h"
#include "analyzer/findings/spec_view.h"
#include "analyzer/findings/thresholds.h"

namespace stallscope::findings {

using attribution::Cause;

namespace {

// Why this format is slow to read; empty where it is not.
std::string Slowness(const Case& c, const SourceSpec& source) {
  const double bytes = BytesOfElement(c);
  if (source.format == SourceFormat::kCsv) return "CSV is text, and each number must be parsed";
  if (source.format == SourceFormat::kHdf5) return "HDF5 reads under one lock of its library";
  const bool files = source.format == SourceFormat::kImages || source.format == SourceFormat::kRaw;
  if (files && bytes > 0 && bytes < static_cast<double>(kSmallFileBytes)) {
    return fmt::format("each element is a file of its own, of {} in the mean", Size(bytes));
  }
  return "";
}

// Parsing the text is a map's work.
double ShareOfFormat(const Case& c, StageId source) {
  double share = Blamed(c, source,
                        {Cause::kIo, Cause::kCpu, Cause::kLock, Cause::kBlocked,
                         Cause::kCpuContention, Cause::kSerial});
  for (const auto& stage : c.run.stages) {
    const auto* map = As<MapSpec>(c, stage.id);
    if (map == nullptr || map->ops.empty() || !map->ops.front().starts_with("decode_csv")) continue;
    share += BlamedForWork(c, stage.id);
  }
  return share;
}

}  // namespace

void RecordFormat(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, attribution::Category::kInputStall)) return;
  for (const auto& stage : c.run.stages) {
    const auto* source = As<SourceSpec>(c, stage.id);
    if (source == nullptr) continue;
    const std::string why = Slowness(c, *source);
    const double share = ShareOfFormat(c, stage.id);
    if (why.empty() || share < kModerateShare) continue;
    Draft draft = About("record-format", c, stage.id, share,
                        fmt::format("{} of step time goes into the format that {} reads: {}",
                                    Percent(share), stage.name, why));
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: format {}", stage.name, ToWord(source->format)));
    RecommendUnpriced(draft, "write the data into TFRecord files of 100 MB and more, once", {},
                      "one run does not tell another format's speed: convert a part of the data, "
                      "record a run on it, and compare");
    drafts.push_back(std::move(draft));
  }
}

}  // namespace stallscope::findings
