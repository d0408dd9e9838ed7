// Row 14: the device waits for a copy that could have been made while it computed.
#include <fmt/format.h>

#include <algorithm>

#include "analyzer/findings/device_time.h"
#include "analyzer/findings/facts.h"
#include "analyzer/findings/rules/rules.h"
#include "analyzer/findings/thresholds.h"

namespace stallscope::findings {

using attribution::At;
using attribution::Category;

namespace {

// Of what could be hidden; the steps' beginnings and ends are not.
constexpr std::array<double, 3> kHidden = {0.6, 0.9, 1.0};

// Only so much is hidden as is computed meanwhile. The size is the number of the assumption: the
// copies become faster, too, where they were not from pinned memory. With batches prefetched to the
// device, the next one is asked for while this one is computed, like from a prefetch.
Effect Hidden(const std::array<double, 3>& left, int64_t ahead) {
  return {[left, ahead](Load& load, double size) {
            if (ahead > 0) PrepareAhead(load, ahead);
            const auto which = static_cast<size_t>(size);
            double& transfer = load.exposed_s[At(Category::kTransfer)];
            transfer *= left[which];
            const double cover = load.exposed_s[At(Category::kCompute)];
            transfer -= kHidden[which] * std::min(transfer, cover);
          },
          {0, 1, 2}};
}

}  // namespace

void CopyOverlap(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kTransfer)) return;
  if (c.spec.has_value() && c.spec->transfer.overlap) return;
  const CopiesToDevice copies = CopiesOf(c);
  const double share = Share(c, Category::kTransfer);
  Draft draft = About(
      "copy-overlap", c, StageId::None(), share,
      fmt::format("{} of step time the device does nothing but receive a copy", Percent(share)));
  Show(draft, Evidence::Kind::kCopy,
       fmt::format("{} copies to the device, none beside a kernel's work", copies.count));
  Patch patch;
  int64_t ahead = 0;
  if (c.spec.has_value()) {
    patch = Setting("transfer.overlap", true);
    // A copy from pageable memory holds the host up until it is done.
    if (!c.spec->transfer.pinned) patch.changes.emplace_back(SetTo("transfer.pinned", true));
    if (c.spec->transfer.prefetch_to_device == 0) {
      ahead = kFirstPrefetch;
      patch.changes.emplace_back(SetTo("transfer.prefetch_to_device", ahead));
    }
  }
  draft.words.value = std::to_string(kFirstPrefetch);
  Recommend(draft, "copy the next batch, from pinned memory, while this one is computed",
            std::move(patch), Hidden(LeftWhenPinned(c), ahead));
  const double bytes = BytesOfBatch(c) * static_cast<double>(kFirstPrefetch);
  if (bytes > 0) draft.finding.recommendation->memory_bytes = static_cast<int64_t>(bytes);
  drafts.push_back(std::move(draft));
}

}  // namespace stallscope::findings
