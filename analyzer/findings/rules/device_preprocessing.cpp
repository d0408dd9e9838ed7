// Row 16: the host's cores are the bottleneck, and the device could run the last ops of the maps.
#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::device_preprocessing {
namespace {

// `part` of the map's time leaves the host; the device does it `size` times as fast as a core, and
// its time is exposed.
Effect OverThere(StageId stage, double part) {
  return {[stage, part](Load& load, double size) {
            StageDemand* use = load.Find(stage);
            if (use == nullptr) return;
            const double moved_s = part * use->service_s;
            load.exposed_s[At(Category::kCompute)] += load.batch * use->items * moved_s / size;
            use->service_s -= moved_s;
            use->cpu_s *= 1 - part;
          },
          kDeviceOverCore};
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
  if (tail->first == 0) {
    Recommend(draft, text, std::move(patch), OverThere(id, 1));
  } else {
    RecommendUnpriced(draft, text, std::move(patch),
                      fmt::format("the run does not show how much of the time of {} these ops "
                                  "take: replay it with the change",
                                  stage.name));
  }
  if (!ComputesReally(c)) {
    draft.finding.recommendation->assumptions.push_back(
        stage.name + ".on: an emulated device runs ops in no time; a real one takes some");
  }
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
