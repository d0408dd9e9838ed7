// Row 11: a shuffle buffer that is too small to mix anything.
#include <fmt/format.h>

#include "analyzer/findings/facts.h"
#include "analyzer/findings/rules/rules.h"
#include "analyzer/findings/spec_view.h"
#include "analyzer/findings/thresholds.h"

namespace stallscope::findings {

void ShuffleBuffer(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!c.spec.has_value()) return;
  const size_t at = FirstOf<ShuffleSpec>(*c.spec);
  const size_t batch = FirstOf<BatchSpec>(*c.spec);
  if (at >= batch || batch >= c.spec->stages.size()) return;
  const int64_t buffer = std::get<ShuffleSpec>(c.spec->stages[at].kind).buffer_size;
  const int64_t size = std::get<BatchSpec>(c.spec->stages[batch].kind).size;
  const int64_t least = kFewestShuffledBatches * size;
  // One element shuffles nothing, which may well be meant.
  if (buffer <= 1 || buffer >= least) return;
  const std::string& name = c.spec->stages[at].name;
  Draft draft = About("shuffle-buffer", c, StageNamed(c, name), 0,
                      fmt::format("{} draws from {} elements, for batches of {}: neighbours in the "
                                  "files stay neighbours",
                                  name, buffer, size));
  draft.finding.severity = Severity::kLow;
  Show(draft, Evidence::Kind::kQueue, fmt::format("{}: {} elements", name, buffer));
  const int64_t wanted = 16 * size;
  draft.words.value = std::to_string(wanted);
  RecommendUnpriced(draft, fmt::format("let {} draw from {} elements", name, wanted),
                    Setting(name + ".buffer_size", wanted),
                    "it is about what the model sees, not about speed", Aim::kQuality);
  const double bytes = BytesOfElement(c) * static_cast<double>(wanted - buffer);
  if (bytes > 0) draft.finding.recommendation->memory_bytes = static_cast<int64_t>(bytes);
  drafts.push_back(std::move(draft));
}

}  // namespace stallscope::findings
