// No row of its own: no other rule knows what to do about the bound. A verdict without advice says
// what would help, or why nothing would.
#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::what_would_help {
namespace {

std::string_view HelpWith(std::optional<Cause> cause) {
  switch (cause.value_or(Cause::kUnknown)) {
    case Cause::kCpu:
      return "its work must become cheaper, or be spread over more cores";
    case Cause::kIo:
      return "faster storage, or fewer bytes per element, would help";
    case Cause::kBlocked:
      return "it is off the CPU in its own work: look for sleeps, network calls and locks of its "
             "own";
    case Cause::kCpuContention:
      return "fewer busy threads, or more cores, would help";
    case Cause::kLock:
      return "its workers take turns: split what they share";
    case Cause::kOrder:
      return "elements of more equal cost, or no fixed order, would help";
    case Cause::kSerial:
      return "it works on one element at a time: split it into parts that can run in parallel";
    case Cause::kBuffer:
      return "it is fast enough on average: a deeper buffer in front of the trainer would help";
    case Cause::kStartup:
      return "its workers start too often: keep them from one epoch to the next "
             "(persistent_workers=True), or make the epochs longer";
    case Cause::kUnknown:
      break;
  }
  return "this trace does not show what it does meanwhile: record one that shows the loader's work";
}

std::string OfInput(const Case& c) {
  const std::string lock =
      c.verdict.cause == Cause::kLock ? SharedLockOf(c, c.verdict.stage) : std::string();
  return fmt::format("{} of step time is spent waiting for {}{}: {}{}",
                     Percent(Share(c, Category::kInputStall)), NameOf(c, c.verdict.stage),
                     c.verdict.cause == Cause::kStartup
                         ? ""
                         : ", and no change that stallscope knows applies to it",
                     HelpWith(c.verdict.cause),
                     lock.empty() ? "" : fmt::format(", or hold {} for less of the work", lock));
}

std::string OfCopies(const Case& c, const CopiesToDevice& copies) {
  std::string text = fmt::format("for {} of step time the device does nothing but copy",
                                 Percent(Share(c, Category::kTransfer)));
  const double computes = Share(c, Category::kCompute);
  if (computes < kModerateShare) {
    text += computes >= 0.0005
                ? fmt::format("; it computes for {} of it, too little to hide copies behind",
                              Percent(computes))
                : "; no kernel runs for copies to hide behind";
  }
  if (copies.count > 0 && copies.pinned == copies.count) {
    text += "; the batches are copied from pinned memory already";
  }
  return text +
         ": fewer bytes would help (a narrower type, smaller elements, results that stay on "
         "the device)";
}

std::string OfLaunches(const Case& c) {
  const auto& idle = c.attribution.idle;
  std::string text = fmt::format("for {} of step time the device waits for the host to launch work",
                                 Percent(Share(c, Category::kLaunch)));
  if (BusyBetweenLaunches(c)) {
    text += fmt::format(
        ", {} per launch: the host is busy with something else in between",
        Duration(static_cast<double>(idle.launch_ns) / static_cast<double>(idle.launches)));
  }
  return text + "; profile the step's own code, and do less of it on the host";
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  const std::optional<Category> category = CategoryOf(c.verdict.bound);
  if (!category.has_value() || *category == Category::kCompute) return;
  const double share = Share(c, *category);
  if (share <= 0) return;
  const CopiesToDevice copies = CopiesOf(c);
  std::string text;
  if (*category == Category::kInputStall) {
    text = OfInput(c);
  } else if (*category == Category::kTransfer) {
    text = OfCopies(c, copies);
  } else if (*category == Category::kLaunch) {
    text = OfLaunches(c);
  } else {
    text = fmt::format(
        "{} of step time is communication: a faster link, or fewer bytes to reduce, "
        "would help",
        Percent(share));
  }
  const bool of_stage = *category == Category::kInputStall;
  Draft draft = About(c, of_stage ? c.verdict.stage : StageId::None(), share, std::move(text));
  if (*category == Category::kTransfer && copies.ns > 0) {
    Show(draft, Evidence::Kind::kCopy,
         fmt::format("{} to the device: {} at {}", Counted(copies.count, "copy", "copies"),
                     Bytes(copies.bytes),
                     words::BytesPerSecond(1e9 * static_cast<double>(copies.bytes) /
                                           static_cast<double>(copies.ns))));
  }
  draft.finding.last_resort = true;
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {.id = "what-would-help",
                           .shortens = Parts(Category::kInputStall, Category::kTransfer,
                                             Category::kLaunch, Category::kCommunication),
                           .check = Check};

}  // namespace stallscope::findings::what_would_help
