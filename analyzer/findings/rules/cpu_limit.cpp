// No row of its own: the cores themselves are the bottleneck, so more workers bring nothing.
#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::cpu_limit {
namespace {

struct Taker {
  std::string text;
  bool others = false;  // they may be gone in the next run
};

std::optional<Taker> WhoTakesThem(const Case& c) {
  const auto& cpu = c.attribution.cpu;
  if (cpu.throttled.value_or(0) >= kThrottled) {
    return Taker{fmt::format("the cgroup quota stopped the run for {} of the time",
                             Percent(*cpu.throttled))};
  }
  if (cpu.steal.value_or(0) >= kThrottled) {
    return Taker{fmt::format("the hypervisor took {} of the cores' time", Percent(*cpu.steal))};
  }
  if (cpu.cores > 0 && cpu.process_busy.value_or(0) >= kCoresBurned * cpu.cores) {
    return Taker{fmt::format("{:.1f} of {:.1f} cores are in use", *cpu.process_busy, cpu.cores)};
  }
  const double waits = ReadyWithoutCore(c.attribution);
  if (waits > Share(c, Category::kInputStall)) {
    Taker taker{
        fmt::format("for up to {} of step time the trainer's thread is ready without a core",
                    Percent(waits)),
        cpu.OthersDisturb()};
    if (taker.others) {
      taker.text += fmt::format(", and other programs or virtual machines have {} of the cores",
                                Percent(*cpu.others));
    }
    return taker;
  }
  return std::nullopt;
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  const double taken = TakenByInput(c.attribution);
  if (!Worth(c, Category::kInputStall) && taken == 0) return;
  const std::optional<Taker> who = WhoTakesThem(c);
  const double share = taken + BlamedOn(c, Cause::kCpu) + BlamedOn(c, Cause::kCpuContention);
  if (!who.has_value() || share < kModerateShare) return;
  Draft draft = About(
      c, StageId::None(), share,
      who->text + (who->others ? ": only a run without these shows what more workers would bring"
                               : ": more workers would only wait for each other"));
  ShowCounter(draft, c, "process.run_wait", "threads that were ready but had no core");
  if (c.attribution.cpu.throttled.value_or(0) > 0) {
    ShowCounter(draft, c, "cgroup.throttled", "time held back by the quota");
  }
  if (c.attribution.cpu.LoadsInThreads()) {
    RecommendUnpriced(
        draft,
        fmt::format("let each process that loads have one thread of its math library, as other "
                    "threads of theirs, probably such ones, use {:.1f} cores: {}",
                    *c.attribution.cpu.beside_loading, kOneMathThread),
        Patch{{SetTo("job.threads", int64_t{1})}}, std::string(kWithoutThreads));
  } else {
    RecommendUnpriced(
        draft,
        who->others ? "record it again while they are idle; do less work per element, or give the "
                      "run more cores"
                    : "do less work per element, or give the run more cores",
        {}, "this run does not show how fast the program is on more cores: record it there");
  }
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "cpu-limit", .row = 0, .shortens = Parts(Category::kInputStall), .check = Check};

}  // namespace stallscope::findings::cpu_limit
