// Row 18: every step makes the same launches, one by one.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::captured_graph {
namespace {

bool Captured(const Case& c) {
  if (c.spec.has_value()) return c.spec->trainer.graph == GraphMode::kCaptured;
  const auto& kernels = c.run.rows.kernels;
  return std::any_of(kernels.begin(), kernels.end(), [](const auto& k) { return k.graph != 0; });
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!LaunchesAreWorth(c) || Captured(c)) return;
  const double share = Share(c, Category::kLaunch);
  const auto& idle = c.attribution.idle;
  Draft draft = About(
      c, StageId::None(), share,
      fmt::format("for {} of step time the device waits while the host launches kernels one by one",
                  Percent(share)));
  Show(draft, Evidence::Kind::kKernel,
       fmt::format("{} launches, {:.1f} kernels queued on average", idle.launches,
                   idle.launch_queue_mean));
  Recommend(draft, "capture a step's launches as a graph once, and replay it",
            c.spec.has_value() ? Setting("trainer.graph", "captured") : Patch(),
            WithExposedTimes(Category::kLaunch, kLeftWhenCaptured));
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "captured-graph",
    .row = 18,
    .shortens = Parts(Category::kLaunch),
    .check = Check,
    .advice = {
        .tf_data = R"py(@tf.function(jit_compile=True, reduce_retracing=True)
def train_step(images, labels): ...)py",
        .pytorch = R"py(model = torch.compile(model, mode="reduce-overhead")  # CUDA graphs)py",
        .grain = R"py(train_step = jax.jit(train_step, donate_argnums=0))py",
    }};

}  // namespace stallscope::findings::captured_graph
