// Row 20: a device takes no part in training.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::idle_device {
namespace {

// Each of so many computes its part; what they exchange is added.
Effect Mirrored(double devices) {
  return {[devices](Load& load, double size) {
            double& compute = load.exposed_s[At(Category::kCompute)];
            load.exposed_s[At(Category::kCommunication)] += size * compute / devices;
            compute /= devices;
          },
          kExchanged};
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  const auto& devices = c.attribution.devices;
  if (!HasAccelerator(c) || devices.size() < 2 || c.run.info.world_size > 1) return;
  if (c.spec.has_value() && c.spec->trainer.strategy.kind != StrategyKind::kSingle) return;
  const int64_t most =
      std::max_element(devices.begin(), devices.end(), [](const auto& a, const auto& b) {
        return a.busy_ns < b.busy_ns;
      })->busy_ns;
  const auto idle = std::count_if(devices.begin(), devices.end(), [&](const auto& device) {
    return static_cast<double>(device.busy_ns) < kModerateShare * static_cast<double>(most);
  });
  if (idle == 0 || most == 0) return;
  const double share = static_cast<double>(idle) / static_cast<double>(devices.size());
  Draft draft = About(c, StageId::None(), share,
                      fmt::format("{} of {} devices {} no part in training", idle, devices.size(),
                                  idle == 1 ? "takes" : "take"));
  for (const auto& device : devices) {
    Show(draft, Evidence::Kind::kKernel,
         fmt::format("device {}: busy {}", device.device,
                     Duration(static_cast<double>(device.busy_ns))));
  }
  Patch patch;
  if (c.spec.has_value()) {
    patch = Setting("trainer.strategy.kind", "mirrored");
    patch.changes.emplace_back(
        SetTo("trainer.strategy.replicas", static_cast<int64_t>(devices.size())));
  }
  draft.args.value = std::to_string(devices.size());
  Recommend(draft, "train one replica on each device", std::move(patch),
            Mirrored(static_cast<double>(devices.size())));
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "idle-device",
    .row = 20,
    .shortens = Parts(Category::kCompute),
    .check = Check,
    .advice = {
        .tf_data = R"py(strategy = tf.distribute.MirroredStrategy()  # all devices
with strategy.scope():
    model = make_model())py",
        .pytorch = R"py(# torchrun --nproc-per-node={value} train.py
model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[local_rank]))py",
    }};

}  // namespace stallscope::findings::idle_device
