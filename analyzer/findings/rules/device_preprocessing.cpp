// Row 16: the host's cores are the bottleneck, and the device could run the last ops of the maps.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::device_preprocessing {
namespace {

// The bytes of a value before the map and after each of its ops.
std::vector<double> Widths(const Spec& spec, size_t stage) {
  double width = 1;
  std::vector<double> widths;
  for (size_t i = 0; i <= stage; ++i) {
    const auto* map = As<MapSpec>(spec.stages[i]);
    if (map == nullptr) continue;
    if (i == stage) widths.push_back(width);
    for (const OpCall& op : OpsOf(*map)) {
      if (op.name() == "normalize" || op.name() == "scale") width = 4;
      if (op.name() == "cast") {
        const std::string& to = op.Word("dtype");
        width = to == "uint8" ? 1 : to == "float16" ? 2 : 4;
      }
      if (i == stage) widths.push_back(width);
    }
  }
  return widths;
}

// The time that an emulated device takes for the moved ops per sample: the bytes that they read and
// write, at its rate. Nothing for a real device, or if the run does not show the size of a sample.
std::optional<double> EmulatedSeconds(const Case& c, const DeviceTail& tail) {
  const double bytes = BytesOfSample(c);
  if (ComputesReally(c) || bytes <= 0) return std::nullopt;
  const std::vector<double> widths = Widths(*c.spec, tail.stage);
  const double values = bytes / widths.back();
  double moved = 0;
  for (size_t i = tail.first; i + 1 < widths.size(); ++i) {
    moved += values * (widths[i] + widths[i + 1]);
  }
  return moved * 1e-9 / Resolved(c.spec->trainer.emulated).op_gbps;
}

// Decoded bytes would cross the link as floats again, and the trainer's thread would widen them.
bool LeavesBytes(const Spec& spec, const DeviceTail& tail) {
  const bool pictures = std::any_of(spec.stages.begin(), spec.stages.end(), [](const auto& stage) {
    const auto* map = As<MapSpec>(stage);
    return map != nullptr && Decodes(*map);
  });
  return pictures && spec.transfer.dtype == TransferDtype::kFloat32 &&
         Widths(spec, tail.stage)[tail.first] == 1;
}

// The whole map leaves the host. The device takes `known_s` per sample for it, or does it `size`
// times as fast as a core, and its time is exposed.
Effect OverThere(StageId stage, std::optional<double> known_s) {
  return {[stage, known_s](Load& load, double size) {
            StageDemand* use = load.Find(stage);
            if (use == nullptr) return;
            const double there_s = known_s.value_or(use->items * use->service_s / size);
            load.exposed_s[At(Category::kCompute)] += load.batch * there_s;
            use->service_s = 0;
            use->cpu_s = 0;
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
  if (LeavesBytes(*c.spec, *tail)) patch.changes.emplace_back(SetTo("transfer.dtype", "uint8"));
  if (tail->first == 0) {
    Recommend(draft, text, std::move(patch), OverThere(id, EmulatedSeconds(c, *tail)));
  } else {
    RecommendUnpriced(draft, text, std::move(patch),
                      fmt::format("the run does not show how much of the time of {} these ops "
                                  "take: replay it with the change",
                                  stage.name));
  }
  if (!ComputesReally(c)) {
    draft.finding.recommendation->assumptions.push_back(fmt::format(
        "{}.on: the emulated device reads and writes an op's values at {}, according to its spec",
        stage.name, words::BytesPerSecond(Resolved(c.spec->trainer.emulated).op_gbps * 1e9)));
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
