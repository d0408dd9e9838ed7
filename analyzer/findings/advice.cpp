#include "analyzer/findings/advice.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "analyzer/model/job_spec.h"

namespace stallscope::findings {
namespace {

void Replace(std::string& text, std::string_view what, std::string_view with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), with);
    at += with.size();
  }
}

// The stage's name as a Python identifier.
std::string Identifier(const std::string& name) {
  std::string identifier;
  for (char letter : name) {
    const bool fits = std::isalnum(static_cast<unsigned char>(letter)) != 0;
    identifier += fits ? letter : '_';
  }
  const bool digit =
      !identifier.empty() && std::isdigit(static_cast<unsigned char>(identifier.front())) != 0;
  return identifier.empty() || digit ? "stage_" + identifier : identifier;
}

std::string Filled(std::string_view text, const AdviceArgs& args) {
  std::string code(text);
  Replace(code, "{stage}", Identifier(args.stage));
  Replace(code, "{value}", args.value);
  Replace(code, "{batches}", args.batches);
  Replace(code, "{transforms}", args.transforms);
  return code;
}

// Names that only one framework's profiler, kernels or threads have.
constexpr std::array<std::string_view, 4> kJax = {"PjitFunction", "PjRt", "jax", "pjit"};
constexpr std::array<std::string_view, 4> kPytorch = {"aten::", "at::native", "torch",
                                                      "ProfilerStep#"};
constexpr std::array<std::string_view, 5> kTensorFlow = {"tensorflow", "IteratorGetNext",
                                                         "Iterator::", "tf_data", "tf.data"};
// Names are in the order of their first use; a framework's own are among the first.
constexpr size_t kMostNames = 100'000;

template <size_t N>
bool HasAny(const model::Run& run, const std::array<std::string_view, N>& words) {
  const auto end =
      run.strings.begin() + static_cast<std::ptrdiff_t>(std::min(run.strings.size(), kMostNames));
  return std::any_of(run.strings.begin(), end, [&](const std::string& name) {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return name.find(word) != std::string::npos; });
  });
}

}  // namespace

constexpr Advice kAccumulate = {
    .tf_data = R"py(ds = ds.batch({value})
optimizer = tf.keras.optimizers.Adam(learning_rate, gradient_accumulation_steps={batches})  # Keras 3)py",
    .pytorch = R"py(loader = DataLoader(dataset, batch_size={value})
for step, (images, labels) in enumerate(loader):
    (criterion(model(images), labels) / {batches}).backward()
    if (step + 1) % {batches} == 0:
        optimizer.step()
        optimizer.zero_grad())py",
    .dali = R"py(@pipeline_def(batch_size={value}, num_threads=4, device_id=0)
def pipe(): ...)py",
    .grain = R"py(ds = ds.batch({value})
optimizer = optax.MultiSteps(optimizer, every_k_schedule={batches}))py",
};

constexpr Advice kDivideStream = {.pytorch = R"py(class Divided(torch.utils.data.IterableDataset):
    def __iter__(self):
        worker = torch.utils.data.get_worker_info()  # None in the main process
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        yield from map(read, items[first::step])  # before they are read
loader = DataLoader(Divided(), batch_size, num_workers={value}))py"};

constexpr Advice kLoadInWorkersThatStay = {
    .pytorch = R"py(loader = DataLoader(dataset, batch_size, num_workers={value},
                    persistent_workers=True)  # made once, before the first epoch)py"};

Code CodeOf(const Advice& advice, const AdviceArgs& args) {
  return {Filled(advice.tf_data, args), Filled(advice.pytorch, args), Filled(advice.dali, args),
          Filled(advice.grain, args)};
}

Frameworks FrameworksOf(const model::Run& run) {
  if (model::IsJob(run)) {
    const auto uses = [&](std::string_view name) {
      const auto& used = run.info.job.frameworks;
      return std::any_of(used.begin(), used.end(),
                         [&](const auto& framework) { return framework.name == name; });
    };
    // Any other loader is PyTorch's, replaces it, or feeds what the job trains with.
    Frameworks found{false, false, false, false};
    bool& trains = uses("torch")        ? found.pytorch
                   : uses("jax")        ? found.grain
                   : uses("tensorflow") ? found.tf_data
                                        : found.pytorch;
    trains = run.loaders.empty();
    for (const model::Loader& loader : run.loaders) {
      const std::string& kind = loader.info.kind;
      bool& framework = model::IsTfData(loader.info)       ? found.tf_data
                        : kind.starts_with("grain.")       ? found.grain
                        : kind.starts_with("nvidia.dali.") ? found.dali
                                                           : trains;
      framework = true;
    }
    return found;
  }
  if (!run.imported()) return {};
  if (run.info.imported_from == "kineto") return {false, true, false, false};
  if (run.info.imported_from == "tensorflow") return {true, false, false, false};
  Frameworks found{HasAny(run, kTensorFlow), HasAny(run, kPytorch), false, HasAny(run, kJax)};
  // Torch on XLA goes through the same runtime as JAX.
  if (found.pytorch) found.grain = false;
  if (!found.tf_data && !found.pytorch && !found.grain) return {};
  return found;
}

Code Only(Code code, const Frameworks& frameworks) {
  if (!frameworks.tf_data) code.tf_data.clear();
  if (!frameworks.pytorch) code.pytorch.clear();
  if (!frameworks.dali) code.dali.clear();
  if (!frameworks.grain) code.grain.clear();
  return code;
}

}  // namespace stallscope::findings
