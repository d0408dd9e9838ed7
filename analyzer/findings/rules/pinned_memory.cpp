// Row 14: copies from pageable memory go through a buffer of the driver, at a fraction of the
// link's speed, and hold the host up.
#include <fmt/format.h>

#include "analyzer/findings/device_time.h"
#include "analyzer/findings/facts.h"
#include "analyzer/findings/rules/rules.h"
#include "analyzer/findings/thresholds.h"

namespace stallscope::findings {

using attribution::Category;

void PinnedMemory(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kTransfer)) return;
  const CopiesToDevice copies = CopiesOf(c);
  if (copies.pageable == 0 || 2 * copies.pageable < copies.count) return;
  if (c.spec.has_value() && c.spec->transfer.pinned) return;
  const double share = Share(c, Category::kTransfer);
  Draft draft = About("pinned-memory", c, StageId::None(), share,
                      fmt::format("{} of step time is copies to the device, {} of {} of them from "
                                  "pageable memory",
                                  Percent(share), copies.pageable, copies.count));
  if (copies.ns > 0) {
    Show(draft, Evidence::Kind::kCopy,
         fmt::format("{} at {:.1f} GB/s", Size(static_cast<double>(copies.bytes)),
                     static_cast<double>(copies.bytes) / static_cast<double>(copies.ns)));
  }
  Recommend(draft, "copy batches from pinned memory",
            c.spec.has_value() ? Setting("transfer.pinned", true) : Patch(),
            WithExposedTimes(Category::kTransfer, LeftWhenPinned(c)));
  const double bytes = BytesOfBatch(c);
  if (bytes > 0) draft.finding.recommendation->memory_bytes = static_cast<int64_t>(2 * bytes);
  drafts.push_back(std::move(draft));
}

}  // namespace stallscope::findings
