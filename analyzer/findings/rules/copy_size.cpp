// Row 14: many small copies, each of which takes its latency.
#include <fmt/format.h>

#include "analyzer/findings/device_time.h"
#include "analyzer/findings/facts.h"
#include "analyzer/findings/rules/rules.h"
#include "analyzer/findings/thresholds.h"

namespace stallscope::findings {

using attribution::Category;

void CopySize(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kTransfer)) return;
  const CopiesToDevice copies = CopiesOf(c);
  const size_t steps = c.run.rows.steps.size();
  if (copies.count == 0 || steps == 0) return;
  const double each = static_cast<double>(copies.bytes) / static_cast<double>(copies.count);
  const double a_step = static_cast<double>(copies.count) / static_cast<double>(steps);
  if (each >= static_cast<double>(kSmallCopyBytes) || a_step < kManyCopies) return;
  const double share = Share(c, Category::kTransfer);
  Draft draft =
      About("copy-size", c, StageId::None(), share,
            fmt::format("{:.0f} copies a step of {} each: their latency is what they cost", a_step,
                        Size(each)));
  Show(draft, Evidence::Kind::kCopy, fmt::format("{} copies to the device", copies.count));
  const double one = kManyCopies / a_step / 4;
  Recommend(draft, "put a batch's arrays into one buffer, and copy that", {},
            WithExposedTimes(Category::kTransfer, {0.6, 0.3 + one / 2, one}));
  drafts.push_back(std::move(draft));
}

}  // namespace stallscope::findings
