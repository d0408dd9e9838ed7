// Row 17: neighboring kernels that could be one are launched one by one.
#include <algorithm>

#include "analyzer/attribution/device_use.h"
#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::kernel_fusion {
namespace {

// What is left of the launches. Not all neighbors use each other's results; compilers also fuse
// more than these.
Assumed Left(const Case& c) {
  const double neighbors = attribution::ShareOfElementwiseNeighbors(c.run);
  if (neighbors == 0 && (!IsEmulated(c) || c.run.rows.kernels.empty())) return kLeftWhenFused;
  return {1 - kFusedAtLeast * neighbors, 1 - neighbors,
          IsEmulated(c) ? 1 - neighbors : std::min(1 - neighbors, kLeftWhenFused[2])};
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!LaunchesAreWorth(c)) return;
  if (c.spec.has_value() && c.spec->trainer.fuse) return;
  uint64_t count = 0;
  int64_t ns = 0;
  for (const auto& kernel : c.attribution.kernels) {
    count += kernel.count;
    ns += kernel.ns;
  }
  if (count == 0 || static_cast<double>(ns) / static_cast<double>(count) > kShortKernelNs) return;
  const double share = Share(c, Category::kLaunch);
  Draft draft = About(
      c, StageId::None(), share,
      fmt::format("{} of step time is spent launching kernels, which run for only {} on average",
                  Percent(share), Duration(static_cast<double>(ns) / static_cast<double>(count))));
  Show(draft, Evidence::Kind::kKernel, fmt::format("{} kernels", count));
  Recommend(draft, "fuse neighboring kernels",
            c.spec.has_value() ? Setting("trainer.fuse", true) : Patch(),
            WithExposedTimes(Category::kLaunch, Left(c)));
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "kernel-fusion",
    .row = 17,
    .shortens = Parts(Category::kLaunch),
    .check = Check,
    .advice = {
        .tf_data = R"py(@tf.function(jit_compile=True)
def train_step(images, labels): ...)py",
        .pytorch = R"py(model = torch.compile(model))py",
        .grain = R"py(train_step = jax.jit(train_step)  # XLA fuses what is inside)py",
    }};

}  // namespace stallscope::findings::kernel_fusion
