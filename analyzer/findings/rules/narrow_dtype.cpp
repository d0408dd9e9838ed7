// Row 15: values that were bytes a moment before cross the link as floats.
#include <algorithm>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::narrow_dtype {
namespace {

struct Narrowing {
  Patch patch;
  std::string text;
  double left = 0.5;  // of the bytes
};

// The first op that makes bytes wider, of the stages on the host; its stage, too.
struct Widening {
  size_t stage = 0;
  size_t op = 0;
};
std::optional<Widening> WideningOf(const Spec& spec) {
  for (size_t i = 0; i < spec.stages.size(); ++i) {
    const auto* map = As<MapSpec>(spec.stages[i]);
    if (map == nullptr || map->on == MapOn::kDevice) continue;
    const std::vector<OpCall> ops = OpsOf(*map);
    const auto wide = std::find_if(ops.begin(), ops.end(), Widens);
    if (wide != ops.end()) return Widening{i, static_cast<size_t>(wide - ops.begin())};
  }
  return std::nullopt;
}

std::optional<Narrowing> NarrowingOf(const Case& c) {
  const Spec& spec = *c.spec;
  const std::optional<Widening> wide = WideningOf(spec);
  if (!wide.has_value()) {
    if (!HasPixels(c)) return std::nullopt;
    return Narrowing{Setting("transfer.dtype", "uint8"),
                     "copy the bytes, and let the device widen them", 0.25};
  }
  std::vector<MapTail> tail = DeviceTailOf(spec);
  std::erase_if(tail, [&](const MapTail& part) { return part.stage < wide->stage; });
  // All that widens must go over to the device.
  const bool all =
      !tail.empty() && tail.front().stage == wide->stage && tail.front().first <= wide->op;
  if (all && HasPixels(c)) {
    tail.front().first = wide->op;
    Narrowing narrowing{OnDevice(spec, tail), "copy bytes, and widen and normalize on the device",
                        0.25};
    narrowing.patch.changes.emplace_back(SetTo("transfer.dtype", "uint8"));
    return narrowing;
  }
  return Narrowing{Setting("transfer.dtype", "float16"), "copy float16 values", 0.5};
}

// The pipeline of a framework's trace shows where bytes became floats.
void OfTrace(const Case& c, std::vector<Draft>& drafts) {
  const std::vector<StageId> pipeline = TracedPipeline(c);
  if (pipeline.empty() || CopiesOf(c).count == 0 || !HandsOn(c, pipeline.back(), "float")) return;
  size_t wide = pipeline.size();
  while (wide > 0 && HandsOn(c, pipeline[wide - 1], "float")) --wide;
  if (wide == 0 || !HandsOn(c, pipeline[wide - 1], "uint8")) return;
  const double share = Share(c, Category::kTransfer);
  Draft draft = About(c, StageId::None(), share,
                      fmt::format("{} of step time is spent copying float32 values, which were "
                                  "uint8 before {}",
                                  Percent(share), NameOf(c, pipeline[wide])));
  Show(draft, Evidence::Kind::kCopy,
       fmt::format("{} hands on {}", NameOf(c, pipeline.back()),
                   SettingOf(c, pipeline.back(), "types")));
  RecommendUnpriced(
      draft, "copy the bytes, and let the device widen them", Patch(),
      "a trace does not show how long the device takes to widen them: " + ToMeasure(c));
  drafts.push_back(std::move(draft));
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kTransfer)) return;
  if (!c.spec.has_value()) return OfTrace(c, drafts);
  if (c.spec->transfer.dtype != TransferDtype::kFloat32) return;
  const std::optional<Narrowing> narrowing = NarrowingOf(c);
  if (!narrowing.has_value()) return;
  const double share = Share(c, Category::kTransfer);
  Draft draft =
      About(c, StageId::None(), share,
            fmt::format("{} of step time is spent copying float32 values", Percent(share)));
  const double bytes = BytesOfBatch(c);
  Show(draft, Evidence::Kind::kCopy,
       bytes > 0 ? fmt::format("{} per batch", Bytes(bytes))
                 : std::string("transfer.dtype: float32"));
  RecommendUnpriced(draft, narrowing->text, narrowing->patch,
                    "the run does not show how long other types take: " + ToMeasure(c));
  CostsMemory(draft, -bytes * (1 - narrowing->left));
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "narrow-dtype",
    .row = 15,
    .shortens = Parts(Category::kTransfer),
    .check = Check,
    .advice = {
        .tf_data =
            R"py(# leave the images uint8 in the pipeline; the first layer of the model widens them
model = tf.keras.Sequential([tf.keras.layers.Rescaling(1.0 / 255), model]))py",
        .pytorch = R"py(images = images.to(device, non_blocking=True)  # uint8 from the loader
images = images.float().div_(255)  # on the device)py",
        .dali = R"py(images = images.gpu()  # as uint8
images = fn.crop_mirror_normalize(images, dtype=types.FLOAT, mean=mean, std=std))py",
        .grain = R"py(@jax.jit
def train_step(state, images, labels):  # uint8 from the pipeline
    images = images.astype(jnp.float32) / 255)py",
    }};

}  // namespace stallscope::findings::narrow_dtype
