#include "analyzer/findings/advice/framework.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace stallscope::findings::advice {
namespace {

// What only one framework's profiler, kernels and threads are called.
constexpr std::array<std::string_view, 4> kJax = {"PjitFunction", "PjRt", "jax", "pjit"};
constexpr std::array<std::string_view, 4> kPytorch = {"aten::", "at::native", "torch",
                                                      "ProfilerStep#"};
constexpr std::array<std::string_view, 5> kTensorFlow = {"tensorflow", "IteratorGetNext",
                                                         "Iterator::", "tf_data", "tf.data"};
// Names come in the order in which they are first used; a framework's own are among the first.
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

Frameworks FrameworksOf(const model::Run& run) {
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

}  // namespace stallscope::findings::advice
