// Row 18: functions are compiled again and again during the run.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::retracing {
namespace {

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  // The first step compiles; if it stands out, the window begins after it.
  const CountedTime compiled = CountedIn(c, "compilations");
  if (compiled.count < 2 || compiled.share < kModerateShare) return;
  const double share = std::min(1.0, compiled.share);
  Draft draft = About(c, StageId::None(), share,
                      fmt::format("{} compilations take {} of step time: each new shape, type or "
                                  "Python value of an argument compiles the function again",
                                  compiled.count, Percent(share)));
  ShowCounter(draft, c, "compilations", fmt::format("{} compilations", compiled.count));
  RecommendUnpriced(draft, "call functions with arguments of a fixed shape and type", Patch(),
                    "this run does not show how fast the program is with fewer compilations: "
                    "record it with the change");
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "retracing",
    .row = 18,
    .shortens = Parts(Category::kLaunch),
    .check = Check,
    .advice = {
        .tf_data =
            R"py(@tf.function(input_signature=[tf.TensorSpec(None, tf.float32), tf.TensorSpec(None, tf.float32)])
def train_step(images, labels): ...)py",
        .pytorch = R"py(model = torch.compile(model, dynamic=True))py",
        .grain =
            R"py(train_step = jax.jit(train_step)  # pad batches to one shape; see jax_explain_cache_misses)py",
    }};

}  // namespace stallscope::findings::retracing
