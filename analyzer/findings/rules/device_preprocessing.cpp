// Row 16: the host's cores are the bottleneck, and the device could run the last ops of the maps.
#include <algorithm>

#include <fmt/ranges.h>

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

// Pixels would cross the link as floats again, and the trainer's thread would widen them.
bool LeavesBytes(const Case& c, const MapTail& first) {
  return c.spec->transfer.dtype == TransferDtype::kFloat32 && HasPixels(c) &&
         StillBytes(*c.spec, first.stage, first.first);
}

// What frameworks call an op on the device; {0} is its size, {1} its type.
struct Layers {
  std::string_view op;
  const char* keras;
  const char* torchvision;
};
constexpr Layers kLayers[] = {
    {"resize", "tf.keras.layers.Resizing({0}, {0})", "v2.Resize(({0}, {0}))"},
    {"crop", "tf.keras.layers.CenterCrop({0}, {0})", "v2.CenterCrop({0})"},
    {"random_resized_crop", "", "v2.RandomResizedCrop({0})"},  // Keras has none
    {"flip", "tf.keras.layers.RandomFlip(\"horizontal\")", "v2.RandomHorizontalFlip()"},
    {"color_jitter", "tf.keras.layers.RandomBrightness(0.2), tf.keras.layers.RandomContrast(0.2)",
     "v2.ColorJitter(0.2, 0.2)"},
    {"normalize",
     "tf.keras.layers.Rescaling(1.0 / 255), tf.keras.layers.Normalization(mean=mean, "
     "variance=std**2)",
     "v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean, std)"},
    {"cast", "tf.keras.layers.Rescaling(1.0, dtype=\"{1}\")", "v2.ToDtype(torch.{1})"},
};

constexpr const char* kOfTorchvision = R"py(from torchvision.transforms import v2
on_device = v2.Compose([{transforms}])
images = on_device(images.to(device, non_blocking=True)))py";

constexpr Advice kWithoutKeras = {.pytorch = kOfTorchvision};
constexpr Advice kNoCode = {};

// The code for what moves.
struct Moved {
  AdviceArgs args;
  const Advice* advice = nullptr;  // null: the rule's
};

void AddLayers(const OpCall& op, Moved& code) {
  const auto known = std::find_if(std::begin(kLayers), std::end(kLayers),
                                  [&](const Layers& each) { return each.op == op.name(); });
  if (known == std::end(kLayers)) return;  // one_hot is for labels
  const auto has = [&](std::string_view name) {
    const auto& of = op.op->parameters;
    return std::any_of(of.begin(), of.end(), [&](const auto& each) { return each.name == name; });
  };
  const int64_t size = has("size") ? op.Integer("size") : 0;
  const std::string dtype = has("dtype") ? op.Word("dtype") : "";
  for (const auto& [text, layer] : {std::pair{&code.args.value, known->keras},
                                    std::pair{&code.args.transforms, known->torchvision}}) {
    *text += (text->empty() ? "" : ", ") + fmt::format(fmt::runtime(layer), size, dtype);
  }
  if (std::string_view(known->keras).empty()) code.advice = &kWithoutKeras;
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!c.spec.has_value() || !HasAccelerator(c)) return;
  // There must be room on the device.
  if (Share(c, Category::kCompute) > kLowDeviceUse) return;
  const std::vector<MapTail> tail = DeviceTailOf(*c.spec);
  double on_cores = 0;
  double share = 0;
  StageId most;
  std::vector<StageId> maps;
  std::vector<std::string> moves;  // of each map
  Moved code;
  for (const MapTail& part : tail) {
    const StageSpec& stage = c.spec->stages[part.stage];
    const StageId id = StageNamed(c, stage.name);
    on_cores += Blamed(c, id, {Cause::kCpu, Cause::kCpuContention});
    share += Blamed(c, id);
    if (maps.empty() || Blamed(c, id) > Blamed(c, most)) most = id;
    maps.push_back(id);
    const std::vector<OpCall> ops = OpsOf(std::get<MapSpec>(stage.kind));
    moves.push_back(Joined(ops, part.first, ops.size()));
    for (size_t i = part.first; i < ops.size(); ++i) AddLayers(ops[i], code);
  }
  if (!Worth(c, Category::kInputStall) || on_cores < kModerateShare) return;
  Draft draft =
      About(c, most, share,
            fmt::format("{} of step time is spent waiting for the cores that run {}, while the "
                        "device computes for only {} of it",
                        Percent(share), NamesOf(c, maps), Percent(Share(c, Category::kCompute))));
  for (size_t i = 0; i < maps.size(); ++i) {
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: {} can run on the device", NameOf(c, maps[i]), moves[i]));
  }
  draft.advice = code.args.transforms.empty() ? &kNoCode : code.advice;
  draft.args = std::move(code.args);
  Patch patch = OnDevice(*c.spec, tail);
  if (LeavesBytes(c, tail.front())) patch.changes.emplace_back(SetTo("transfer.dtype", "uint8"));
  RecommendUnpriced(draft, fmt::format("run {} on the device", fmt::join(moves, ", ")),
                    std::move(patch),
                    fmt::format("the run does not show how much of the time of {} these ops "
                                "take: replay it with the change",
                                NamesOf(c, maps)));
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {.id = "device-preprocessing",
                           .row = 16,
                           .shortens = Parts(Category::kInputStall),
                           .check = Check,
                           .advice = {
                               .tf_data = R"py(model = tf.keras.Sequential([
    {value}, model]))py",
                               .pytorch = kOfTorchvision,
                               .dali = R"py(images = fn.decoders.image(jpegs, device="mixed")
images = fn.crop_mirror_normalize(images, dtype=types.FLOAT, mean=mean, std=std))py",
                               .grain = R"py(@jax.jit
def train_step(state, images, labels):
    images = (images.astype(jnp.float32) - mean) / std)py",
                           }};

}  // namespace stallscope::findings::device_preprocessing
