#include "collectors/job/job_digest.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

namespace stallscope::job {
namespace {

constexpr size_t kHalf = 16;  // digits of a word

uint64_t WordOf(std::string_view digits) {
  uint64_t word = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), word, 16);
  return word;
}

// Of the processes that iterate over a loader of one line.
struct Sum {
  uint64_t high = 0;
  uint64_t low = 0;
  uint64_t batches = 0;
  uint64_t steps = 0;
  uint64_t hashing_ns = 0;
  bool ordered = true;
  std::vector<std::string> missing;

  void Add(const LoaderDigest& digest) {
    const std::string_view hash = digest.hash;
    const uint64_t more = WordOf(hash.substr(kHalf));
    low += more;
    high += WordOf(hash.substr(0, kHalf)) + (low < more ? 1 : 0);
    batches += digest.batches;
    steps += digest.steps;
    hashing_ns += digest.hashing_ns;
    ordered = ordered && digest.ordered;
    for (const std::string& what : digest.missing) {
      if (std::find(missing.begin(), missing.end(), what) == missing.end()) missing.push_back(what);
    }
  }
};

}  // namespace

bool IsDigest(std::string_view hash) {
  return hash.size() == 2 * kHalf &&
         hash.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void SetDigest(const std::vector<LoaderDigest>& digests, trace::RunInfo& run) {
  std::map<std::string, Sum> places;
  for (const LoaderDigest& digest : digests) places[digest.place].Add(digest);
  const auto main =
      std::max_element(places.begin(), places.end(), [](const auto& a, const auto& b) {
        return std::tie(a.second.steps, a.second.batches) <
               std::tie(b.second.steps, b.second.batches);
      });
  const auto say = [&](const std::string& what) { run.limits.push_back("run.digest: " + what); };
  if (main == places.end() || main->second.batches == 0) {
    say("no batch was hashed; a Python process gives its digest when it exits, not when it is "
        "killed");
    for (const auto& [place, sum] : places) {
      for (const std::string& what : sum.missing) say("not hashed: " + what);
    }
    return;
  }
  const Sum& sum = main->second;
  run.digest = fmt::format("{:016x}{:016x}", sum.high, sum.low);
  for (const std::string& what : sum.missing) say("not hashed: " + what);
  if (!sum.ordered) {
    say("in_order is off: it is the sum of the batches, comparable over whole epochs only");
  }
  run.limits.push_back(fmt::format(
      "breakdown.compute: holds the time that --digest takes to hash a batch, {:.3f} ms on average",
      static_cast<double>(sum.hashing_ns) / 1e6 / static_cast<double>(sum.batches)));
}

}  // namespace stallscope::job
