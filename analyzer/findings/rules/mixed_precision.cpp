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

// A foreign trace has no spec: its kernels' names show the precision.
void ByKernels(const Case& c, std::vector<Draft>& drafts) {
  const double products = Float32Share(c);
  if (!c.run.imported() || products < kProductShare) return;
  const double share = products * Share(c, Category::kCompute);
  Draft draft =
      About(c, StageId::None(), share,
            fmt::format("{} of kernel time is matrix products in float32", Percent(products)));
  draft.finding.severity = Severity::kMedium;
  Show(draft, Evidence::Kind::kKernel, "judging by the kernels' names");
  RecommendUnpriced(draft, "compute in bfloat16, and keep the weights in float32", Patch(),
                    "a trace does not show how fast its kernels are in another precision: record "
                    "the run with the change");
  drafts.push_back(std::move(draft));
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (c.verdict.bound != Bound::kCompute) return;
  if (!c.spec.has_value()) return ByKernels(c, drafts);
  const Precision now = c.spec->trainer.precision;
  // An emulated device takes the same time whatever it computes, and a host's cores have no
  // float16.
  if (!ComputesReally(c) || (now != Precision::kFp32 && now != Precision::kTf32)) return;
  const double share = Share(c, Category::kCompute);
  Draft draft = About(
      c, StageId::None(), share,
      fmt::format("the device computes for {} of the time, in {}", Percent(share), ToWord(now)));
  draft.finding.severity = Severity::kMedium;
  Show(draft, Evidence::Kind::kKernel, fmt::format("trainer.precision: {}", ToWord(now)));
  RecommendUnpriced(draft, "compute in bfloat16, and keep the weights in float32",
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
        .tf_data = R"py(tf.keras.mixed_precision.set_global_policy("mixed_bfloat16"))py",
        .pytorch = R"py(with torch.autocast("cuda", dtype=torch.bfloat16):
    loss = criterion(model(images), labels)
loss.backward())py",
        .grain = R"py(layer = nn.Dense(features, dtype=jnp.bfloat16, param_dtype=jnp.float32))py",
    }};

}  // namespace stallscope::findings::mixed_precision
