#include "collectors/device/cuda/kernel_name.h"

#include <cxxabi.h>

#include <charconv>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "collectors/device/launch.h"

namespace stallscope::device::cuda {
namespace {

struct Free {
  void operator()(char* text) const { std::free(text); }
};

std::string Demangled(const char* mangled) {
  int status = 0;
  const std::unique_ptr<char, Free> text(abi::__cxa_demangle(mangled, nullptr, nullptr, &status));
  return status == 0 && text != nullptr ? text.get() : mangled;
}

// Each kernel of ours is a template whose first argument is the number of its device::Kernel.
std::string_view OursIn(std::string_view name) {
  constexpr std::string_view kOurs = "stallscope::device::cuda::";
  const size_t ours = name.find(kOurs);
  if (ours == std::string_view::npos) return "";
  const size_t open = name.find('<', ours);
  if (open == std::string_view::npos) return "";
  int number = -1;
  const char* const first = name.data() + open + 1;
  const auto parsed = std::from_chars(first, name.data() + name.size(), number);
  if (parsed.ec != std::errc() || number < 0 || number > static_cast<int>(Kernel::kScaleChannels))
    return "";
  return Name(static_cast<Kernel>(number));
}

}  // namespace

std::string KernelName(const char* mangled) {
  if (mangled == nullptr) return "kernel";
  std::string name = Demangled(mangled);
  if (const auto ours = OursIn(name); !ours.empty()) return std::string(ours);
  // "void f<g>(h)": without the result, the arguments of the function and of the template.
  if (name.starts_with("void ")) name.erase(0, 5);
  const size_t end = name.find_first_of("<(");
  if (end != std::string::npos && end > 0) name.erase(end);
  return name;
}

}  // namespace stallscope::device::cuda
