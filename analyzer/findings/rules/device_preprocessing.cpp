// Row 16: the host's cores are the bottleneck, and the device could run the last ops of the maps.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::device_preprocessing {
namespace {

// Whether the ops of this map up to `op`, and those of the maps before, leave bytes as they are.
bool StillBytes(const Spec& spec, size_t stage, size_t op) {
  for (size_t i = 0; i <= stage; ++i) {
    const auto* map = As<MapSpec>(spec.stages[i]);
    if (map == nullptr) continue;
    const std::vector<OpCall> ops = OpsOf(*map);
    const auto end = i == stage ? ops.begin() + static_cast<std::ptrdiff_t>(op) : ops.end();
    if (std::any_of(ops.begin(), end, Widens)) return false;
  }
  return true;
}

// Decoded bytes would cross the link as floats again, and the trainer's thread would widen them.
bool LeavesBytes(const Spec& spec, const DeviceTail& tail) {
  const bool pictures = std::any_of(spec.stages.begin(), spec.stages.end(), [](const auto& stage) {
    const auto* map = As<MapSpec>(stage);
    return map != nullptr && Decodes(*map);
  });
  return pictures && spec.transfer.dtype == TransferDtype::kFloat32 &&
         StillBytes(spec, tail.stage, tail.first);
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!c.spec.has_value() || !HasAccelerator(c)) return;
  // There must be room on the device.
  if (Share(c, Category::kCompute) > kLowDeviceUse) return;
  const std::optional<DeviceTail> tail = DeviceTailOf(*c.spec);
  if (!tail.has_value()) return;
  const StageSpec& stage = c.spec->stages[tail->stage];
  const StageId id = StageNamed(c, stage.name);
  if (!WorthAt(c, id, {Cause::kCpu, Cause::kCpuContention})) return;
  const double share = Blamed(c, id);
  const std::vector<OpCall> ops = OpsOf(std::get<MapSpec>(stage.kind));
  std::string moved;
  for (size_t i = tail->first; i < ops.size(); ++i) {
    moved += (moved.empty() ? "" : ", ") + ops[i].Text();
  }
  Draft draft =
      About(c, id, share,
            fmt::format("{} of step time is spent waiting for the cores that run {}, while the "
                        "device computes for only {} of it",
                        Percent(share), stage.name, Percent(Share(c, Category::kCompute))));
  Show(draft, Evidence::Kind::kSpans,
       fmt::format("{}: {} can run on the device", stage.name, moved));
  const std::string text = fmt::format("run {} on the device", moved);
  Patch patch = OnDevice(*c.spec, *tail);
  if (LeavesBytes(*c.spec, *tail)) patch.changes.emplace_back(SetTo("transfer.dtype", "uint8"));
  RecommendUnpriced(draft, text, std::move(patch),
                    fmt::format("the run does not show how much of the time of {} these ops "
                                "take: replay it with the change",
                                stage.name));
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {.id = "device-preprocessing",
                           .row = 16,
                           .shortens = Parts(Category::kInputStall),
                           .check = Check,
                           .advice = {
                               .tf_data = R"py(model = tf.keras.Sequential([
    tf.keras.layers.RandomFlip("horizontal"), tf.keras.layers.Rescaling(1.0 / 255), model]))py",
                               .pytorch = R"py(from torchvision.transforms import v2
on_device = v2.Compose([v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean, std)])
images = on_device(images.to(device, non_blocking=True)))py",
                               .dali = R"py(images = fn.decoders.image(jpegs, device="mixed")
images = fn.crop_mirror_normalize(images, dtype=types.FLOAT, mean=mean, std=std))py",
                               .grain = R"py(@jax.jit
def train_step(state, images, labels):
    images = (images.astype(jnp.float32) - mean) / std)py",
                           }};

}  // namespace stallscope::findings::device_preprocessing
