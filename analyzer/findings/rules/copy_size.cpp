// Row 14: many small copies, or several streams that copy a batch in pieces: each copy pays its
// latency.
#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::copy_size {
namespace {

// A link moves one piece at a time, whatever its stream, so fewer streams save only the latency of
// the pieces. False if that is too little.
bool TooManyStreams(const Case& c, std::vector<Draft>& drafts) {
  if (!c.spec.has_value() || c.spec->transfer.streams < 2) return false;
  const auto streams = static_cast<double>(c.spec->transfer.streams);
  const double saved = LatencyPartOfCopies(c) * (1 - 1 / streams);
  const double share = saved * Share(c, Category::kTransfer);
  if (share < kModerateShare) return false;
  const CopiesToDevice copies = CopiesOf(c);
  Draft draft =
      About(c, StageId::None(), share,
            fmt::format("{0} streams copy each batch in {0} pieces, whose latency takes {1} of "
                        "step time",
                        c.spec->transfer.streams, Percent(share)));
  Show(draft, Evidence::Kind::kCopy,
       fmt::format("{} to the device, {} each", Counted(copies.count, "copy", "copies"),
                   Bytes(static_cast<double>(copies.bytes) / static_cast<double>(copies.count))));
  const double believed = ComputesReally(c) ? kEstimatedLatency : 1;
  Recommend(draft, "copy a batch in one piece", Setting("transfer.streams", 1),
            WithExposedTimes(Category::kTransfer, {1 - believed * saved, 1 - saved, 1 - saved}));
  drafts.push_back(std::move(draft));
  return true;
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kTransfer) || TooManyStreams(c, drafts)) return;
  const CopiesToDevice copies = CopiesOf(c);
  const size_t steps = c.run.rows.steps.size();
  if (copies.count == 0 || steps == 0) return;
  const double each = static_cast<double>(copies.bytes) / static_cast<double>(copies.count);
  const double a_step = static_cast<double>(copies.count) / static_cast<double>(steps);
  if (each >= static_cast<double>(kSmallCopyBytes) || a_step < kManyCopies) return;
  const double share = Share(c, Category::kTransfer);
  Draft draft = About(c, StageId::None(), share,
                      fmt::format("{} of step time is copies, {:.0f} per step of {} each: most of "
                                  "what they cost is latency",
                                  Percent(share), a_step, Bytes(each)));
  Show(draft, Evidence::Kind::kCopy, fmt::format("{} copies to the device", copies.count));
  const double one = kPackedCopies / a_step;
  Recommend(draft, "pack a batch's arrays into one buffer, and copy that", {},
            WithExposedTimes(Category::kTransfer,
                             {kLeftWhenPacked, (kLeftWhenPacked / 2) + one / 2, one}));
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "copy-size",
    .row = 14,
    .shortens = Parts(Category::kTransfer),
    .check = Check,
    .advice = {
        .pytorch =
            R"py(packed = torch.cat([x.reshape(-1) for x in batch]).pin_memory().to(device, non_blocking=True)
parts = packed.split([x.numel() for x in batch]))py",
    }};

}  // namespace stallscope::findings::copy_size
