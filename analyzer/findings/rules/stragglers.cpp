// Row 24: single elements that a step waited for, each by name.
#include "analyzer/findings/rules/rule.h"
#include "analyzer/model/job_spec.h"

namespace stallscope::findings::stragglers {
namespace {

std::string Origin(const Case& c, const attribution::Straggler& straggler) {
  if (straggler.file == trace::StringId::None()) return "";
  const std::optional<size_t> shard = ShardOf(c, straggler.file);
  const std::string_view file = c.run.Text(straggler.file);
  return shard.has_value()
             ? fmt::format(", read from shard {} ({}, record {})", *shard, file, straggler.record)
             : fmt::format(", read from {}", file);
}

std::string WaitOf(const Case& c, const attribution::Straggler& straggler) {
  return fmt::format("step {} waited {} for {}{}", straggler.step,
                     Duration(static_cast<double>(straggler.element_ns)),
                     model::ItemInWords(c.run, straggler.element), Origin(c, straggler));
}

Evidence EvidenceOf(const Case& c, const attribution::Straggler& straggler) {
  Evidence evidence;
  evidence.kind = Evidence::Kind::kStep;
  evidence.step = straggler.step;
  evidence.stage = straggler.stage;
  evidence.item = straggler.element;
  evidence.start_ns = straggler.start_ns;
  evidence.end_ns = straggler.start_ns + straggler.element_ns;
  evidence.text = fmt::format("{}; most of it in {} ({})", WaitOf(c, straggler),
                              NameOf(c, straggler.stage), WordFor(straggler.cause));
  return evidence;
}

// Others can pass the element if its stage does not keep the order; where they cannot, a deeper
// prefetch hides it.
Patch LettingOthersPass(const Case& c, StageId stage) {
  const auto* map = As<MapSpec>(c, stage);
  const auto* source = As<SourceSpec>(c, stage);
  const bool map_keeps = map != nullptr && map->deterministic && map->parallelism.value > 1;
  const bool source_keeps =
      source != nullptr && source->deterministic && source->parallelism.value > 1;
  if (map_keeps || source_keeps) return StageSetting(c, stage, "deterministic", false);
  if (!c.spec.has_value()) return {};
  const Spec& spec = *c.spec;
  const size_t at = FirstOf<PrefetchSpec>(spec);
  if (at >= spec.stages.size()) {
    const size_t batch = FirstOf<BatchSpec>(spec);
    if (batch >= spec.stages.size()) return {};
    Patch patch;
    patch.changes.emplace_back(
        InsertChange{{FreshName(spec, "prefetch"), PrefetchSpec{{kHidingPrefetch, false}}},
                     Place::After(spec.stages[batch].name)});
    return patch;
  }
  const Knob& now = std::get<PrefetchSpec>(spec.stages[at].kind).buffer_size;
  if (now.automatic || now.value >= kHidingPrefetch) return {};
  return Setting(spec.stages[at].name + ".buffer_size", kHidingPrefetch);
}

// Not of the machine, of how workers send what they made, of the choice of indices, or as long as
// any other: the element would wait so again, and another one would not.
bool IsOfTheElement(const Case& c, const attribution::Straggler& straggler) {
  if (IsSampler(c, straggler.stage)) return false;
  const attribution::StageUse* const use = UseOf(c, straggler.stage);
  const auto took = static_cast<double>(straggler.took_ns);
  if (use != nullptr && took > 0 && took < kStragglerSlower * use->service_ns.p50) return false;
  switch (straggler.cause) {
    case Cause::kCpuContention:
    case Cause::kLock:
    case Cause::kStartup:
      return false;
    default:
      return !model::IsTransport(c.run, straggler.stage);
  }
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  const double bar = kStragglerSteps * MedianStepNs(c);
  if (bar <= 0 || c.verdict.bound == Bound::kInconclusive) return;
  Draft draft = About(c, StageId::None(), 0, "");
  int64_t lost = 0;
  size_t all = 0;
  for (const auto& straggler : c.attribution.stragglers) {
    if (!straggler.element.known() || static_cast<double>(straggler.element_ns) < bar) continue;
    if (!IsOfTheElement(c, straggler)) continue;
    if (draft.finding.evidence.empty()) draft.finding.text = WaitOf(c, straggler);
    if (all++ < kShownStragglers) draft.finding.evidence.push_back(EvidenceOf(c, straggler));
    lost += straggler.element_ns;
  }
  auto& evidence = draft.finding.evidence;
  if (evidence.empty()) return;
  draft.finding.stage = evidence.front().stage;
  // Each device of a step waits for the same element.
  const size_t devices = std::max<size_t>(1, c.attribution.timelines.size());
  all = (all + devices - 1) / devices;
  draft.finding.share = static_cast<double>(lost) / static_cast<double>(devices) /
                        static_cast<double>(c.attribution.window.ns());
  if (draft.finding.share < kStragglerShare) return;
  draft.finding.severity = SeverityOf(draft.finding.share);
  // The finding is useful even if no setting hides the elements: it names them.
  draft.finding.stands_alone = true;
  if (all > 1) {
    draft.finding.text +=
        fmt::format(", and {} for one element each", Counted(all - 1, "other step"));
  }
  RecommendUnpriced(draft,
                    "look at these elements: without a fixed order the others pass them, a deeper "
                    "prefetch hides a few of them, and a timeout or a pass over the data before "
                    "training removes bad ones",
                    LettingOthersPass(c, draft.finding.stage),
                    "a few elements are too little to predict from: `stallscope replay --verify` "
                    "measures the gain");
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {.id = "stragglers",
                           .row = 24,
                           .shortens = Parts(Category::kInputStall),
                           .check = Check,
                           .advice = {
                               .tf_data = R"py(options = tf.data.Options()
options.deterministic = False
ds = ds.with_options(options))py",
                               .pytorch =
                                   R"py(# in_order: from torch 2.6 on
loader = DataLoader(dataset, batch_size, num_workers=num_workers, in_order=False))py",
                           }};

}  // namespace stallscope::findings::stragglers
