// Row 18: Python runs the step's operations one by one.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::eager_ops {
namespace {

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  const CountedTime eager = CountedIn(c, "eager ops");
  const auto steps = static_cast<double>(std::max<size_t>(1, c.attribution.window.steps));
  const double each = static_cast<double>(eager.count) / steps;
  if (each < kManyOpsAStep || eager.share < kModerateShare) return;
  const double share = std::min(1.0, eager.share);
  Draft draft = About(
      c, StageId::None(), share,
      fmt::format("Python runs {:.0f} operations per step one by one, which takes {} of step time",
                  each, Percent(share)));
  ShowCounter(draft, c, "eager ops", fmt::format("{} operations", eager.count));
  RecommendUnpriced(draft, "compile the step into one function", Patch(),
                    "this run does not show how long a compiled step takes: record one");
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {.id = "eager-ops",
                           .row = 18,
                           .shortens = Parts(Category::kLaunch),
                           .check = Check,
                           .advice = {
                               .tf_data = R"py(@tf.function
def train_step(images, labels): ...)py",
                               .pytorch = R"py(model = torch.compile(model))py",
                               .grain = R"py(train_step = jax.jit(train_step))py",
                           }};

}  // namespace stallscope::findings::eager_ops
