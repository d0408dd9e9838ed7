#include "analyzer/importers/nsys/ranges.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <utility>

namespace stallscope::importers::nsys {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return c >= 'a' && c <= 'z'; }

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// As a separate word: "step" in "train step", not in "stepping".
bool ContainsWord(std::string_view key, std::string_view word) {
  for (size_t at = key.find(word); at != std::string_view::npos; at = key.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool begins = at == 0 || !IsLetter(key[at - 1]);
    if (begins && (end == key.size() || !IsLetter(key[end]))) return true;
  }
  return false;
}

constexpr size_t kLeastSteps = 3;
// A program that marks more kinds of work in its workers marks items, not stages.
constexpr size_t kMostStages = 64;

bool IsLess(const Range& a, const Range& b) {
  return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
}

class Marks {
 public:
  Marks(MarkedRanges& marked, RunBuilder& builder) : marked_(marked), builder_(builder) {}

  MarksSeen Run() {
    for (MarkedThread& thread : marked_.threads) {
      std::stable_sort(thread.ranges.begin(), thread.ranges.end(), IsLess);
    }
    MarksSeen seen;
    FindSteps();
    const size_t trainer = step_thread_ ? *step_thread_ : ThreadOfLoader();
    if (trainer == marked_.threads.size()) return seen;
    trainer_stage_ = builder_.Stage("trainer", "trainer", 1);
    const TrackId track = builder_.ThreadTrack(marked_.threads[trainer].name,
                                               marked_.threads[trainer].number, trainer_stage_);
    if (step_thread_) seen.steps = Steps(track);
    seen.loader = AddFetches(marked_.threads[trainer], track);
    if (!seen.loader) return seen;
    for (size_t i = 0; i < marked_.threads.size(); ++i) {
      if (i != trainer) AddWorker(marked_.threads[i]);
    }
    return seen;
  }

 private:
  // The ranges with the likeliest text; of several threads, the one that marks most.
  void FindSteps() {
    int best_rank = 0;
    size_t most = 0;
    for (size_t t = 0; t < marked_.threads.size(); ++t) {
      std::map<uint32_t, size_t> counts;
      for (const Range& range : marked_.threads[t].ranges) ++counts[range.key];
      for (const auto& [key, count] : counts) {
        const int rank = StepRank(marked_.keys[key]);
        if (rank == 0 || count < kLeastSteps) continue;
        if (rank < best_rank || (rank == best_rank && count <= most)) continue;
        best_rank = rank;
        most = count;
        step_thread_ = t;
        step_key_ = key;
      }
    }
  }

  size_t ThreadOfLoader() const {
    size_t best = marked_.threads.size();
    size_t most = kLeastSteps - 1;
    for (size_t t = 0; t < marked_.threads.size(); ++t) {
      const auto& ranges = marked_.threads[t].ranges;
      const auto count =
          static_cast<size_t>(std::count_if(ranges.begin(), ranges.end(), [&](const Range& range) {
            return IsLoader(marked_.keys[range.key]);
          }));
      if (!marked_.threads[t].launches || count <= most) continue;
      most = count;
      best = t;
    }
    return best;
  }

  std::vector<StepMark> Steps(TrackId track) const {
    std::vector<StepMark> steps;
    int64_t until = INT64_MIN;
    for (const Range& range : marked_.threads[*step_thread_].ranges) {
      if (range.key != step_key_ || range.start_ns < until) continue;
      until = range.end_ns;
      StepMark mark;
      mark.index = range.number.value_or(steps.size());
      mark.start_ns = range.start_ns;
      mark.end_ns = range.end_ns;
      mark.track = track;
      steps.push_back(mark);
    }
    return steps;
  }

  bool AddFetches(const MarkedThread& thread, TrackId track) {
    bool any = false;
    int64_t until = INT64_MIN;
    for (size_t i = 0; i < thread.ranges.size(); ++i) {
      const Range& range = thread.ranges[i];
      if (range.start_ns < until || !IsLoader(marked_.keys[range.key])) continue;
      until = range.end_ns;
      any = true;
      loader_ = builder_.Stage(marked_.texts[range.key], "loader", 1);
      builder_.Connect(loader_, trainer_stage_);
      size_t inside = i + 1;
      while (inside < thread.ranges.size() && thread.ranges[inside].start_ns < range.end_ns) {
        ++inside;
      }
      builder_.AddBatchWait(track, loader_, range.start_ns, range.end_ns, inside > i + 1);
      for (size_t j = i + 1; j < inside; ++j) AddWork(thread.ranges[j], track);
    }
    return any;
  }

  void AddWork(const Range& range, TrackId track) {
    stages_.insert(range.key);
    const StageId stage = builder_.Stage(marked_.texts[range.key], marked_.keys[range.key], 1);
    builder_.Connect(stage, loader_);
    builder_.AddSpan(track, builder_.Work(stage), range.start_ns, range.end_ns);
  }

  void AddWorker(const MarkedThread& thread) {
    if (thread.launches || thread.ranges.empty() || stages_.size() > kMostStages) return;
    std::set<uint32_t> keys = stages_;
    for (const Range& range : thread.ranges) {
      keys.insert(range.key);
      if (keys.size() > kMostStages) return;
    }
    const TrackId track = builder_.ThreadTrack(thread.name, thread.number, loader_);
    for (const Range& range : thread.ranges) AddWork(range, track);
    for (const SystemWait& wait : thread.waits) {
      builder_.AddSpan(track, builder_.Wait(wait.cause), wait.start_ns, wait.end_ns);
    }
  }

  MarkedRanges& marked_;
  RunBuilder& builder_;
  std::optional<size_t> step_thread_;
  uint32_t step_key_ = 0;
  StageId trainer_stage_;
  StageId loader_;
  std::set<uint32_t> stages_;  // by key
};

}  // namespace

std::string RangeKey(std::string_view text) {
  std::string key;
  for (const char c : text) {
    if (IsDigit(c)) continue;
    const bool joins = c == ' ' || c == '_' || c == '-' || c == '#' || c == ':' || c == '=' ||
                       c == '[' || c == ']' || c == '/' || c == ',';
    if (joins) {
      if (!key.empty() && key.back() != ' ') key += ' ';
    } else {
      key += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  while (!key.empty() && key.back() == ' ') key.pop_back();
  return key;
}

std::optional<uint64_t> RangeNumber(std::string_view text) {
  size_t end = text.size();
  while (end > 0 && !IsDigit(text[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && IsDigit(text[begin - 1])) --begin;
  uint64_t number = 0;
  const auto read = std::from_chars(text.data() + begin, text.data() + end, number);
  if (begin == end || read.ec != std::errc()) return std::nullopt;
  return number;
}

int StepRank(std::string_view key) {
  if (key == "profilerstep") return 5;
  // Parts of a step, which occur as often.
  constexpr std::array<std::string_view, 9> kParts = {
      "optimizer", "forward", "backward", "loss", "data", "load", "zero", "scheduler", "eval"};
  for (const std::string_view part : kParts) {
    if (Contains(key, part)) return 0;
  }
  if (ContainsWord(key, "step")) return 4;
  if (ContainsWord(key, "iteration") || ContainsWord(key, "iter")) return 3;
  if (key == "batch" || key == "train batch" || key == "training batch") return 2;
  return 0;
}

bool IsLoader(std::string_view key) {
  constexpr std::array<std::string_view, 8> kWords = {"dataloader", "data loading", "data load",
                                                      "load data",  "load batch",   "next batch",
                                                      "get batch",  "fetch batch"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return Contains(key, word); }) ||
         key == "data" || key == "input" || key == "loader";
}

bool IsFrameworkOp(std::string_view text) {
  return Contains(text, "op_id = ") || text.substr(0, 6) == "aten::" || Contains(text, "Backward0");
}

MarksSeen AddMarkedRanges(MarkedRanges& marked, RunBuilder& builder) {
  return Marks(marked, builder).Run();
}

}  // namespace stallscope::importers::nsys
