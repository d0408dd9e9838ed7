// Row 20: part of the replicas' gradient exchange is not hidden behind computing.
#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::strategy {
namespace {

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kCommunication)) return;
  const double share = Share(c, Category::kCommunication);
  Draft draft =
      About(c, StageId::None(), share,
            fmt::format("{} of step time is communication that is not hidden behind computing",
                        Percent(share)));
  for (const auto& kernel : c.attribution.kernels) {
    if (!kernel.communication) continue;
    Show(draft, Evidence::Kind::kKernel,
         fmt::format("{}: {} in {} calls", c.run.Text(kernel.name),
                     Duration(static_cast<double>(kernel.ns)), kernel.count));
    break;
  }
  const bool server =
      c.spec.has_value() && c.spec->trainer.strategy.kind == StrategyKind::kParameterServer;
  Patch patch;
  if (server) {
    patch = Setting("trainer.strategy.kind", "mirrored");
  } else if (c.spec.has_value()) {
    patch = Setting("trainer.accumulate", kBatchesPerReduction * BatchesPerUpdate(c));
  }
  RecommendUnpriced(
      draft,
      server ? "reduce among the replicas instead of through a parameter server"
             : fmt::format("reduce only every {} steps (their gradients make one update, as those "
                           "of a larger batch would), start reducing a layer's gradients while the "
                           "next layer's are computed, or use larger buckets",
                           kBatchesPerReduction * BatchesPerUpdate(c)),
      std::move(patch),
      "a run does not show how much of it computing could hide: record one with the change");
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {.id = "strategy",
                           .row = 20,
                           .shortens = Parts(Category::kCommunication),
                           .check = Check,
                           .advice = {
                               .tf_data = R"py(strategy = tf.distribute.MirroredStrategy(
    cross_device_ops=tf.distribute.NcclAllReduce(num_packs=2)))py",
                               .pytorch = R"py(model = torch.nn.parallel.DistributedDataParallel(
    model, bucket_cap_mb=100, gradient_as_bucket_view=True)
with model.no_sync():  # in all but every n-th step, around the forward pass, too
    loss = criterion(model(images), labels)
    loss.backward())py",
                           }};

}  // namespace stallscope::findings::strategy
