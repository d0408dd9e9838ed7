// Row 21: one reader by nature, behind a lock: a Python generator's shape.
#include <fmt/format.h>

#include "analyzer/findings/facts.h"
#include "analyzer/findings/rules/rules.h"
#include "analyzer/findings/spec_view.h"
#include "analyzer/findings/thresholds.h"
#include "analyzer/findings/workers.h"

namespace stallscope::findings {

using attribution::Cause;

void SerialSource(const Case& c, const Load* load, std::vector<Draft>& drafts) {
  for (const auto& stage : c.run.stages) {
    if (RoleOf(c, stage.id) != StageRole::kSource) continue;
    if (!WorthAt(c, stage.id, {Cause::kSerial, Cause::kLock})) continue;
    const attribution::StageUse* use = UseOf(c, stage.id);
    if (use == nullptr || !use->serial) continue;
    const double share = Blamed(c, stage.id, {Cause::kSerial, Cause::kLock});
    Draft draft = About("serial-source", c, stage.id, share,
                        fmt::format("{} of step time waits for {}, which gives one element at a "
                                    "time: more workers would wait for each other",
                                    Percent(share), stage.name));
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: {} an element, one at a time", stage.name,
                     Duration(use->service_ns.mean)));
    const int64_t readers = WorkersFor(load, stage.id, 1, kMostReaders);
    draft.words.value = std::to_string(readers);
    const auto* source = As<SourceSpec>(c, stage.id);
    const std::string text = fmt::format(
        "split {} into {} that can be read at the same time, one for each part of the data",
        stage.name, readers);
    // What makes its elements up has a parallel twin; what reads files does not say their format.
    const bool twin =
        source != nullptr && source->format == SourceFormat::kSerial && source->files.empty();
    Patch patch;
    if (twin) {
      patch = Setting(stage.name + ".format", "synthetic");
      patch.changes.emplace_back(SetTo(stage.name + ".parallelism", readers));
    }
    Recommend(draft, text, std::move(patch), WithWorkers(stage.id, readers));
    drafts.push_back(std::move(draft));
  }
}

}  // namespace stallscope::findings
