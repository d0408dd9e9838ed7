// Row 19: a compute-bound run in float32 on a device that is several times as fast in a narrower
// type.
#include <algorithm>
#include <array>
#include <string_view>

#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::mixed_precision {
namespace {

// What libraries name their matrix products and convolutions after: what they multiply. "s1688" and
// "tf32" are float32 rounded on the way.
constexpr std::array<std::string_view, 6> kFloat32 = {"sgemm", "scudnn",  "s1688",
                                                      "tf32",  "_f32f32", "SGEMM"};
constexpr std::array<std::string_view, 8> kNarrow = {"h884", "s884",   "h1688", "s16816",
                                                     "bf16", "f16f16", "hgemm", "e4m3"};

constexpr std::string_view kAdvice = "compute in bfloat16, and keep the weights in float32";

template <size_t N>
bool HasAny(std::string_view name, const std::array<std::string_view, N>& words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return name.find(word) != std::string_view::npos;
  });
}

// The share of kernel time in float32 products; 0 where narrower ones take as much.
double Float32Share(const Case& c) {
  double wide = 0;
  double narrow = 0;
  for (const auto& kernel : c.attribution.kernels) {
    const std::string_view name = c.run.Text(kernel.name);
    if (HasAny(name, kNarrow)) {
      narrow += kernel.fraction;
    } else if (HasAny(name, kFloat32)) {
      wide += kernel.fraction;
    }
  }
  return wide > narrow ? wide : 0;
}

// Without a spec, in a foreign trace or a job's, the kernels' names show the precision.
void ByKernels(const Case& c, std::vector<Draft>& drafts) {
  const double products = Float32Share(c);
  if (products < kProductShare) return;
  const double share = products * Share(c, Category::kCompute);
  Draft draft =
      About(c, StageId::None(), share,
            fmt::format("{} of kernel time is matrix products in float32", Percent(products)));
  draft.finding.severity = Severity::kMedium;
  Show(draft, Evidence::Kind::kKernel, "judging by the kernels' names");
  draft.args.value = "bfloat16";
  RecommendUnpriced(draft, std::string(kAdvice), Patch(),
                    "a trace does not show how fast its kernels are in another precision: record "
                    "the run with the change");
  drafts.push_back(std::move(draft));
}

// The larger batch for which smaller activations make room.
std::string RoomLeft(const Case& c) {
  const std::optional<DeviceRoom> memory = DeviceRoomOf(c);
  const size_t batch = FirstOf<BatchSpec>(*c.spec);
  if (!memory.has_value() || batch >= c.spec->stages.size()) return "";
  // Half of what is in use now, for twice the batch.
  if (memory->peak > kMemoryRisk * memory->limit) return "";
  return fmt::format("; batches of {} then fit, too",
                     2 * As<BatchSpec>(c.spec->stages[batch])->size);
}

// An emulated device's spec states its speed in each precision: recommends the fastest narrow one,
// if that is faster than now.
void ByFigures(const Case& c, std::vector<Draft>& drafts) {
  TrainerSpec trainer = c.spec->trainer;
  const double now = EmulatedSpeed(trainer);
  Precision best = trainer.precision;
  double speed = now;
  // bf16 first: if both are equally fast, prefer the one that needs no loss scale.
  for (const Precision narrow : {Precision::kBf16, Precision::kFp16}) {
    trainer.precision = narrow;
    if (EmulatedSpeed(trainer) <= speed) continue;
    best = narrow;
    speed = EmulatedSpeed(trainer);
  }
  if (speed <= now) return;
  const double share = Share(c, Category::kCompute);
  Draft draft = About(c, StageId::None(), share,
                      fmt::format("the device computes in {} for {} of the time",
                                  ToWord(c.spec->trainer.precision), Percent(share)));
  draft.finding.severity = Severity::kMedium;
  Show(draft, Evidence::Kind::kKernel,
       fmt::format("trainer.precision: {}", ToWord(c.spec->trainer.precision)));
  draft.args.value = best == Precision::kBf16 ? "bfloat16" : "float16";
  const double left = now / speed;
  Recommend(draft,
            best == Precision::kBf16
                ? fmt::format("{}{}", kAdvice, RoomLeft(c))
                : fmt::format("compute in float16 with a loss scale, and keep the weights in "
                              "float32{}",
                              RoomLeft(c)),
            Setting("trainer.precision", ToWord(best)),
            WithExposedTimes(Category::kCompute, {left, left, left}));
  draft.finding.recommendation->assumptions.push_back(fmt::format(
      "trainer.precision: the emulated device is {} as fast in {}, according to its spec",
      words::Factor(speed / now), ToWord(best)));
  drafts.push_back(std::move(draft));
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (c.verdict.bound != Bound::kCompute) return;
  if (!c.spec.has_value()) return ByKernels(c, drafts);
  const Precision now = c.spec->trainer.precision;
  // A host's cores have no float16.
  if (!HasAccelerator(c) || (now != Precision::kFp32 && now != Precision::kTf32)) return;
  if (!ComputesReally(c)) return ByFigures(c, drafts);
  const double share = Share(c, Category::kCompute);
  Draft draft = About(
      c, StageId::None(), share,
      fmt::format("the device computes in {} for {} of the time", ToWord(now), Percent(share)));
  draft.finding.severity = Severity::kMedium;
  Show(draft, Evidence::Kind::kKernel, fmt::format("trainer.precision: {}", ToWord(now)));
  draft.args.value = "bfloat16";
  RecommendUnpriced(draft, fmt::format("{}{}", kAdvice, RoomLeft(c)),
                    Setting("trainer.precision", "bf16"),
                    "a run does not show how fast its kernels are in another precision: replay it "
                    "with the change");
  drafts.push_back(std::move(draft));
}

}  // namespace

extern const Rule kRule = {
    .id = "mixed-precision",
    .row = 19,
    .shortens = Parts(Category::kCompute),
    .check = Check,
    .advice = {
        .tf_data =
            R"py(policy = "mixed_{value}"  # on GPUs before Ampere: "mixed_float16"
tf.keras.mixed_precision.set_global_policy(policy)  # before the model is built
if policy == "mixed_float16":  # only in a loop of your own: compile() does it for you
    optimizer = tf.keras.mixed_precision.LossScaleOptimizer(optimizer))py",
        .pytorch =
            R"py(dtype = torch.{value}  # on GPUs before Ampere: torch.float16
scaler = torch.amp.GradScaler("cuda", enabled=dtype == torch.float16)
with torch.autocast("cuda", dtype=dtype):
    loss = criterion(model(images), labels)
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update())py",
        .grain = R"py(layer = nn.Dense(features, dtype=jnp.{value}, param_dtype=jnp.float32))py",
    }};

}  // namespace stallscope::findings::mixed_precision
