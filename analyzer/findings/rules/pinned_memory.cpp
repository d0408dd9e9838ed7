// Row 14: copies from pageable memory go through a driver buffer at a fraction of the link's speed,
// and block the host.
#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::pinned_memory {
namespace {

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kTransfer)) return;
  const CopiesToDevice copies = CopiesOf(c);
  if (copies.pageable == 0 || 2 * copies.pageable < copies.count) return;
  if (c.spec.has_value() && c.spec->transfer.pinned) return;
  const double share = Share(c, Category::kTransfer);
  Draft draft = About(c, StageId::None(), share,
                      fmt::format("{} of step time is copies to the device, {} of {} of them from "
                                  "pageable memory",
                                  Percent(share), copies.pageable, copies.count));
  if (copies.ns > 0) {
    Show(draft, Evidence::Kind::kCopy,
         fmt::format("{} at {}", Bytes(static_cast<double>(copies.bytes)),
                     words::BytesPerSecond(1e9 * static_cast<double>(copies.bytes) /
                                           static_cast<double>(copies.ns))));
  }
  Recommend(draft, "copy batches from pinned memory",
            c.spec.has_value() ? Setting("transfer.pinned", true) : Patch(),
            WithExposedTimes(Category::kTransfer, LeftWhenPinned(c)));
  CostsMemory(draft, 2 * BytesOfBatch(c));
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "pinned-memory",
    .row = 14,
    .shortens = Parts(Category::kTransfer),
    .check = Check,
    .advice = {
        .pytorch =
            R"py(loader = DataLoader(dataset, batch_size, num_workers=num_workers, pin_memory=True)
images = images.to(device, non_blocking=True))py",
    }};

}  // namespace stallscope::findings::pinned_memory
