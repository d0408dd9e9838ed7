#include "analyzer/attribution/device_use.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "analyzer/base/saturated.h"

namespace stallscope::attribution {
namespace {

struct Gathered {
  DeviceUse use;
  Intervals kernels;
  Intervals all;
  std::map<std::pair<trace::CopyDirection, trace::CopyMemory>, CopyUse> copies;
};

// Of the reference trainer; PyTorch's have "elementwise" in their names.
constexpr std::array<std::string_view, 5> kElementwise = {"add_bias", "gelu", "gelu_backward",
                                                          "add", "cast"};

bool IsElementwise(std::string_view name) {
  return name.find("elementwise") != std::string_view::npos ||
         std::find(kElementwise.begin(), kElementwise.end(), name) != kElementwise.end();
}

}  // namespace

std::vector<DeviceUse> UseOfDevices(const model::Run& run) {
  std::map<std::pair<uint32_t, uint32_t>, Gathered> devices;
  const auto of = [&](TrackId id) -> Gathered& {
    const model::Track& track = run.tracks[id.value];
    return devices[{track.rank, track.info.device}];
  };
  for (const model::Track& track : run.tracks) {
    if (track.info.on_device()) {
      Gathered& device = of(track.info.id);
      // Memsets, of an imported run.
      for (size_t i = 0; i < track.spans.size(); ++i) {
        device.all.push_back({track.spans.start_ns[i], track.spans.EndNs(i)});
      }
    }
  }
  for (const trace::Kernel& kernel : run.rows.kernels) {
    if (!kernel.track.known()) continue;
    Gathered& device = of(kernel.track);
    ++device.use.kernels;
    device.kernels.push_back({kernel.start_ns, kernel.end_ns});
  }
  for (const trace::Copy& copy : run.rows.copies) {
    if (!copy.track.known()) continue;
    Gathered& device = of(copy.track);
    CopyUse& use = device.copies[{copy.direction, copy.memory}];
    use.direction = copy.direction;
    use.memory = copy.memory;
    ++use.count;
    use.bytes = SaturatedSum(use.bytes, copy.bytes);
    use.ns = SaturatedSum(use.ns, std::max<int64_t>(0, copy.end_ns - copy.start_ns));
    device.all.push_back({copy.start_ns, copy.end_ns});
  }
  std::vector<DeviceUse> uses;
  for (auto& [key, device] : devices) {
    DeviceUse& use = device.use;
    use.rank = key.first;
    use.device = key.second;
    use.name = run.info.device.name;
    device.kernels = UnionWithin(std::move(device.kernels), kEver);
    use.kernel_ns = Length(device.kernels);
    device.all.insert(device.all.end(), device.kernels.begin(), device.kernels.end());
    use.busy_ns = Length(UnionWithin(std::move(device.all), kEver));
    for (const auto& [kind, copies] : device.copies) use.copies.push_back(copies);
    uses.push_back(std::move(use));
  }
  return uses;
}

std::vector<KernelUse> UseOfKernels(const model::Run& run, const Window& window) {
  std::map<trace::StringId, KernelUse> by_name;
  double all = 0;
  for (const trace::Kernel& kernel : run.rows.kernels) {
    const int64_t ns =
        std::min(kernel.end_ns, window.end_ns) - std::max(kernel.start_ns, window.start_ns);
    if (ns < 0 || kernel.end_ns > window.end_ns || kernel.start_ns < window.start_ns) continue;
    KernelUse& use = by_name[kernel.name];
    use.name = kernel.name;
    ++use.count;
    // Kernels that overlap for centuries are in no real trace, but in hostile ones.
    use.ns = SaturatedSum(use.ns, ns);
    all += static_cast<double>(ns);
  }
  std::vector<KernelUse> uses;
  for (auto& [name, use] : by_name) {
    use.fraction = all > 0 ? static_cast<double>(use.ns) / all : 0;
    use.communication = IsCommunication(run.Text(name));
    uses.push_back(use);
  }
  // Ids differ between a foreign file and the same run as .sst; names do not.
  std::sort(uses.begin(), uses.end(), [&](const KernelUse& a, const KernelUse& b) {
    return a.ns != b.ns ? a.ns > b.ns : run.Text(a.name) < run.Text(b.name);
  });
  return uses;
}

double ShareOfElementwiseNeighbors(const model::Run& run) {
  std::vector<bool> elementwise(run.strings.size());
  for (size_t i = 0; i < run.strings.size(); ++i) elementwise[i] = IsElementwise(run.strings[i]);
  const auto& kernels = run.rows.kernels;
  std::map<TrackId, bool> after;  // an elementwise one, by track
  size_t neighbors = 0;
  for (const trace::Kernel& kernel : kernels) {
    bool& follows = after[kernel.track];
    const bool fits = kernel.name.value < elementwise.size() && elementwise[kernel.name.value];
    if (fits && follows) ++neighbors;
    follows = fits;
  }
  return static_cast<double>(neighbors) / static_cast<double>(std::max<size_t>(1, kernels.size()));
}

DeviceIdle IdleOfDevices(const model::Run& run, const Window& window, const Partition& partition) {
  DeviceIdle idle;
  for (const DeviceTimeline& timeline : partition.timelines) {
    for (const Slice& slice : timeline.slices) {
      const int64_t ns = slice.end_ns - slice.start_ns;
      switch (slice.category) {
        case Category::kCompute:
        case Category::kCommunication:
        case Category::kTransfer:
          continue;
        case Category::kLaunch:
          idle.launch_ns += ns;
          break;
        case Category::kInputStall:
          idle.input_ns += ns;
          break;
        case Category::kSync:
          idle.sync_ns += ns;
          break;
        case Category::kOther:
          idle.other_ns += ns;
          break;
      }
      idle.ns += ns;
    }
  }
  std::set<std::pair<uint32_t, uint64_t>> launches;  // a graph's kernels share a correlation
  int64_t queued = 0;
  for (const trace::Kernel& kernel : run.rows.kernels) {
    if (kernel.start_ns < window.start_ns || kernel.end_ns > window.end_ns) continue;
    if (kernel.graph != 0) {
      launches.insert({kernel.track.value, kernel.correlation});
    } else {
      ++idle.launches;
    }
    if (kernel.enqueued_ns != 0) {
      queued = SaturatedSum(queued, std::max<int64_t>(0, kernel.start_ns - kernel.enqueued_ns));
    }
  }
  idle.launches += launches.size();
  if (window.ns() > 0) {
    idle.launch_queue_mean = static_cast<double>(queued) / static_cast<double>(window.ns());
  }
  return idle;
}

std::optional<Arithmetic> ArithmeticOf(const model::Run& run, const Window& window,
                                       const PerCategory<std::optional<CategoryTotal>>& breakdown,
                                       size_t devices) {
  if (run.info.flops_per_step == 0 || run.info.device.emulated()) return std::nullopt;
  if (window.steps == 0 || window.ns() <= 0) return std::nullopt;
  constexpr double kPerSecond = 1e9;
  Arithmetic arithmetic;
  arithmetic.flops_per_step = run.info.flops_per_step;
  const double flops =
      static_cast<double>(run.info.flops_per_step) * static_cast<double>(window.steps);
  arithmetic.flops_per_s = flops / static_cast<double>(window.ns()) * kPerSecond;
  const auto& compute = breakdown[At(Category::kCompute)];
  if (compute.has_value() && compute->ns > 0 && devices > 0) {
    arithmetic.flops_per_s_computing =
        flops / static_cast<double>(devices) / static_cast<double>(compute->ns) * kPerSecond;
  }
  if (run.info.device.peak_flops_per_s != 0 && devices > 0) {
    const auto peak = static_cast<double>(run.info.device.peak_flops_per_s);
    arithmetic.peak_flops_per_s = peak;
    arithmetic.fraction_of_peak = arithmetic.flops_per_s / (peak * static_cast<double>(devices));
  }
  return arithmetic;
}

}  // namespace stallscope::attribution
