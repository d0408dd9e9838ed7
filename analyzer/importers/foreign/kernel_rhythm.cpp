#include "analyzer/importers/foreign/kernel_rhythm.h"

#include <algorithm>
#include <map>
#include <utility>

namespace stallscope::importers {
namespace {

constexpr size_t kLeastRounds = 3;
constexpr size_t kMostRounds = 100'000;

// The kernels of the device that has the most of them, by start.
std::vector<const trace::Kernel*> OfTheBusiestDevice(const model::Run& run) {
  std::map<uint32_t, std::vector<const trace::Kernel*>> devices;
  for (const trace::Kernel& kernel : run.rows.kernels) {
    if (!kernel.track.known() || !kernel.name.known()) continue;
    devices[run.tracks[kernel.track.value].info.device].push_back(&kernel);
  }
  std::vector<const trace::Kernel*> most;
  for (auto& [device, kernels] : devices) {
    if (kernels.size() > most.size()) most = std::move(kernels);
  }
  std::stable_sort(most.begin(), most.end(), [](const trace::Kernel* a, const trace::Kernel* b) {
    return a->start_ns < b->start_ns;
  });
  return most;
}

// How many names come so often. Of n kernels there are no more than sqrt(2n) different counts,
// however many names: what compares each with each is linear.
using NamesByCount = std::map<size_t, size_t>;

// How many rounds there are: the count that most names have.
size_t CommonCount(const NamesByCount& names) {
  std::pair<size_t, size_t> best;  // how many names, which count
  for (const auto& [count, how_many] : names) {
    if (count < kLeastRounds || count > kMostRounds) continue;
    if (how_many > best.first) best = {how_many, count};
  }
  return best.second;
}

// As often as there are rounds or a multiple of it, for most names.
bool Even(const NamesByCount& names, size_t rounds) {
  if (rounds == 0) return false;
  size_t even = 0;
  size_t all = 0;
  for (const auto& [count, how_many] : names) {
    all += how_many;
    if (count % rounds == 0) even += how_many;
  }
  return even * 2 > all;
}

// A recording that was cut out of a run lacks a part of its first and last round: a name that comes
// m times a round may then come m times too often or too rarely. That tells only where m is small
// beside the number of rounds, so it is asked of those names and of enough rounds; nearly all of
// them must agree.
size_t CommonCountOfACutRun(const NamesByCount& names) {
  constexpr size_t kManyRounds = 8;
  constexpr size_t kLeastNames = 3;
  size_t best = 0;
  size_t most = kLeastNames - 1;
  for (const auto& [rounds, candidates] : names) {
    if (rounds < kManyRounds || rounds > kMostRounds) continue;
    size_t agree = 0;
    size_t asked = 0;
    for (const auto& [count, how_many] : names) {
      const size_t each = (count + rounds / 2) / rounds;
      if (2 * each >= rounds) continue;
      asked += how_many;
      const size_t off = count > each * rounds ? count - each * rounds : each * rounds - count;
      agree += each > 0 && off <= each ? how_many : 0;
    }
    if (agree * 10 < asked * 9 || agree < most || (agree == most && rounds <= best)) continue;
    most = agree;
    best = rounds;
  }
  return best;
}

}  // namespace

std::optional<Rhythm> FindRhythm(const model::Run& run) {
  const std::vector<const trace::Kernel*> kernels = OfTheBusiestDevice(run);
  std::map<trace::StringId, size_t> counts;
  for (const trace::Kernel* kernel : kernels) ++counts[kernel->name];
  NamesByCount names;
  for (const auto& [name, count] : counts) ++names[count];
  size_t rounds = CommonCount(names);
  if (!Even(names, rounds)) rounds = CommonCountOfACutRun(names);
  if (rounds == 0) return std::nullopt;

  Rhythm rhythm;
  std::vector<size_t> places;
  for (size_t i = 0; i < kernels.size(); ++i) {
    const trace::Kernel& kernel = *kernels[i];
    if (!rhythm.kernel.known() && counts[kernel.name] == rounds) rhythm.kernel = kernel.name;
    if (kernel.name != rhythm.kernel) continue;
    places.push_back(i);
    rhythm.starts_ns.push_back(kernel.enqueued_ns != 0 ? kernel.enqueued_ns : kernel.start_ns);
  }
  std::vector<size_t> sizes;
  for (size_t i = 1; i < places.size(); ++i) sizes.push_back(places[i] - places[i - 1]);
  std::sort(sizes.begin(), sizes.end());
  if (sizes.back() * 2 > sizes[sizes.size() / 2] * 3) return std::nullopt;
  return rhythm;
}

}  // namespace stallscope::importers
