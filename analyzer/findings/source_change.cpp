#include "analyzer/findings/source_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "analyzer/findings/python_call.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/spec/job_knobs.h"
#include "analyzer/words/words.h"

namespace stallscope::findings {
namespace {

constexpr size_t kContext = 3;                     // lines around a change, as diff has them
constexpr size_t kMostCompared = size_t{1} << 20;  // lines by lines

// What a loader without workers does not take.
constexpr std::array<std::string_view, 5> kOfWorkers = {
    "prefetch_factor", "persistent_workers", "multiprocessing_context", "timeout", "in_order"};

struct NewArgument {
  std::string name;
  std::string json;
};

// What a patch sets of one loader.
struct SiteChange {
  const model::Loader* loader = nullptr;
  std::vector<NewArgument> settings;
};

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

// --- One call ---

// The value stands for what the program does where it is given none.
bool IsLeftOut(const NewArgument& setting) {
  std::string word = setting.json;
  std::erase(word, '"');
  return IsProgramsChoice("loader." + setting.name, word);
}

const trace::CallSite& CallOf(const SiteChange& site) { return site.loader->info.call; }
uint32_t FirstLine(const SiteChange& site) {
  return CallOf(site).line != 0 ? CallOf(site).line : site.loader->info.line;
}

// Where a place of the file is in the text; nothing for one outside of it.
std::optional<size_t> OffsetOf(const ChangedLines& lines, uint32_t line, uint32_t column) {
  if (line < lines.line) return std::nullopt;
  size_t at = 0;
  for (uint32_t before = lines.line; before < line; ++before) {
    at = lines.before.find('\n', at);
    if (at == std::string::npos) return std::nullopt;
    ++at;
  }
  const size_t end = std::min(lines.before.find('\n', at), lines.before.size());
  if (at >= lines.before.size() || column > end - at) return std::nullopt;
  return at + column;
}

// The call in the unchanged text, which must be what the trace says of it.
std::optional<PythonCall> FoundCall(const SiteChange& site, const ChangedLines& lines) {
  const trace::CallSite& call = CallOf(site);
  const auto begin = OffsetOf(lines, FirstLine(site), call.column);
  if (!begin) return std::nullopt;
  if (call.end_line == 0) {
    const size_t end = std::min(lines.before.find('\n', *begin), lines.before.size());
    const auto calls = FindCalls(lines.before, *begin, end, call.names);
    return calls.size() == 1 ? calls.front() : std::nullopt;
  }
  const auto end = OffsetOf(lines, call.end_line, call.end_column);
  auto read = ReadCall(lines.before, *begin);
  const bool same = read && end && read->end == *end;
  const bool known =
      same && std::find(call.names.begin(), call.names.end(), read->callee) != call.names.end();
  return known ? std::move(read) : std::nullopt;
}

std::string Named(const SiteChange& site, const std::vector<NewArgument>& settings) {
  std::string text;
  for (const NewArgument& setting : settings) {
    text += (text.empty() ? "" : ", ") + setting.name;
    text += IsLeftOut(setting) ? " left out" : "=" + PythonOf(setting.json, CallOf(site).source);
  }
  return text;
}

// What a constructor refuses beside `name`. torch: batch_size beside a batch_sampler.
std::optional<Refusal> Excluded(const PythonCall& call, const std::string& name) {
  if (name != "batch_size") return std::nullopt;
  const bool sampled = std::any_of(
      call.arguments.begin(), call.arguments.end(),
      [](const PythonArgument& argument) { return argument.name == "batch_sampler"; });
  if (!sampled) return std::nullopt;
  return Refusal{"passes a batch_sampler, which decides on the size"};
}

std::string PlaceOf(const SiteChange& site) {
  return words::PlaceInCode(site.loader->info.file, FirstLine(site));
}

// All settings of a site in `text`, or the reason why one of them cannot be made.
std::variant<std::string, Refusal> WithSettings(const SiteChange& site, const PythonCall& found,
                                                std::string text) {
  const trace::CallSite& info = CallOf(site);
  const PythonSignature signature{info.parameters, info.keywords, info.any_keyword};
  const size_t begin = found.begin;
  const auto edit = [&](auto&& change) -> std::optional<Refusal> {
    const auto call = ReadCall(text, begin);
    if (!call) return Refusal{"is not understood"};
    auto changed = change(*call);
    if (auto* const refusal = std::get_if<Refusal>(&changed)) return *refusal;
    text = std::get<std::string>(std::move(changed));
    return std::nullopt;
  };
  for (const NewArgument& setting : site.settings) {
    auto refusal = edit([&](const PythonCall& call) -> std::variant<std::string, Refusal> {
      if (auto excluded = Excluded(call, setting.name)) return std::move(*excluded);
      return IsLeftOut(setting)
                 ? WithoutArgument(text, call, setting.name)
                 : WithArgument(text, call, signature, setting.name, PythonOf(setting.json, text));
    });
    if (refusal) return *refusal;
    if (setting.name != "num_workers" || setting.json != "0") continue;
    for (const std::string_view name : kOfWorkers) {
      refusal = edit(
          [&](const PythonCall& call) { return WithoutArgument(text, call, std::string(name)); });
      if (refusal) return *refusal;
    }
  }
  // What has been written must be read back as a call, or it is not shown.
  if (!ReadCall(text, begin)) return Refusal{"is not understood"};
  return text;
}

// Changes `lines.after`; what it does not change is said.
void ChangeCall(const SiteChange& site, ChangedLines& lines, std::vector<std::string>& by_hand) {
  const auto found = FoundCall(site, lines);
  if (!found) {
    by_hand.push_back(
        fmt::format("set {} where {} is constructed: the call at {} is not a plain "
                    "one of {}",
                    Named(site, site.settings), site.loader->name, PlaceOf(site),
                    CallOf(site).names.empty() ? "its class" : CallOf(site).names.front()));
    return;
  }
  auto changed = WithSettings(site, *found, lines.after);
  if (const auto* const refusal = std::get_if<Refusal>(&changed)) {
    by_hand.push_back(fmt::format("set {} by hand: the call at {} {}", Named(site, site.settings),
                                  PlaceOf(site), refusal->why));
    return;
  }
  lines.after = std::get<std::string>(std::move(changed));
}

std::string WhyWithoutSource(const SiteChange& site) {
  const trace::LoaderInfo& info = site.loader->info;
  const std::string what = Named(site, site.settings);
  if (info.file.empty()) {
    return fmt::format("set {} where {} is constructed", what, site.loader->name);
  }
  if (info.call == trace::CallSite()) {
    return fmt::format("set {} where {} is constructed: in code that {} calls", what,
                       site.loader->name, PlaceOf(site));
  }
  return fmt::format("set {} at {}: the trace does not have these lines", what, PlaceOf(site));
}

// --- A file ---

// A file's lines from several calls, as one text where they touch.
std::vector<ChangedLines> Merged(const std::vector<SiteChange>& sites) {
  std::vector<ChangedLines> all;
  for (const SiteChange& site : sites) {
    const trace::CallSite& call = CallOf(site);
    if (!call.source.empty()) all.push_back({std::max(call.source_line, 1U), call.source, {}});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.line < b.line; });
  std::vector<ChangedLines> merged;
  for (ChangedLines& next : all) {
    if (!merged.empty()) {
      ChangedLines& last = merged.back();
      const size_t count = LinesOf(last.before).size();
      if (next.line <= last.line + count) {
        const auto lines = LinesOf(next.before);
        const size_t known = last.line + count - next.line;
        for (size_t i = known; i < lines.size(); ++i) last.before += lines[i];
        continue;
      }
    }
    merged.push_back(std::move(next));
  }
  for (ChangedLines& lines : merged) lines.after = lines.before;
  return merged;
}

// A line of one side, or of both.
struct DiffLine {
  char sign = ' ';
  std::string_view text;
};

// What both sides have in common at their ends.
struct CommonEnds {
  size_t above = 0;
  size_t below = 0;
};
CommonEnds CommonEndsOf(const std::vector<std::string_view>& before,
                        const std::vector<std::string_view>& after) {
  const size_t most = std::min(before.size(), after.size());
  CommonEnds ends;
  while (ends.above < most && before[ends.above] == after[ends.above]) ++ends.above;
  while (ends.above + ends.below < most &&
         before[before.size() - 1 - ends.below] == after[after.size() - 1 - ends.below]) {
    ++ends.below;
  }
  return ends;
}

// The longest common lines stay. Of more lines than calls have, all are replaced.
std::vector<DiffLine> ComparedMiddles(std::span<const std::string_view> before,
                                      std::span<const std::string_view> after) {
  std::vector<DiffLine> lines;
  const size_t n = before.size();
  const size_t m = after.size();
  const bool few = n * m <= kMostCompared;
  std::vector<std::vector<uint32_t>> common(few ? n + 1 : 0, std::vector<uint32_t>(m + 1, 0));
  for (size_t i = n; few && i-- > 0;) {
    for (size_t k = m; k-- > 0;) {
      common[i][k] = before[i] == after[k] ? common[i + 1][k + 1] + 1
                                           : std::max(common[i + 1][k], common[i][k + 1]);
    }
  }
  size_t i = 0;
  size_t k = 0;
  while (i < n || k < m) {
    if (few && i < n && k < m && before[i] == after[k]) {
      lines.push_back({' ', before[i++]});
      ++k;
    } else if (i < n && (k == m || !few || common[i + 1][k] >= common[i][k + 1])) {
      lines.push_back({'-', before[i++]});
    } else {
      lines.push_back({'+', after[k++]});
    }
  }
  return lines;
}

std::vector<DiffLine> Compared(std::string_view before, std::string_view after) {
  const auto old_lines = LinesOf(before);
  const auto new_lines = LinesOf(after);
  const CommonEnds ends = CommonEndsOf(old_lines, new_lines);
  const auto middle = [&](const std::vector<std::string_view>& all) {
    return std::span(all).subspan(ends.above, all.size() - ends.above - ends.below);
  };
  std::vector<DiffLine> lines;
  for (size_t i = 0; i < ends.above; ++i) lines.push_back({' ', old_lines[i]});
  for (const DiffLine& line : ComparedMiddles(middle(old_lines), middle(new_lines))) {
    lines.push_back(line);
  }
  for (size_t i = old_lines.size() - ends.below; i < old_lines.size(); ++i) {
    lines.push_back({' ', old_lines[i]});
  }
  return lines;
}

// One for each of the lines; `shift`: by how many lines the ones above moved those below.
std::string HunkOf(const ChangedLines& lines, int64_t& shift) {
  const auto all = Compared(lines.before, lines.after);
  const auto changed = [](const DiffLine& line) { return line.sign != ' '; };
  const auto first = std::find_if(all.begin(), all.end(), changed);
  if (first == all.end()) return "";
  const auto last = std::find_if(all.rbegin(), all.rend(), changed).base();
  const auto above = std::min<size_t>(kContext, static_cast<size_t>(first - all.begin()));
  auto below = std::min<size_t>(kContext, static_cast<size_t>(all.end() - last));
  // patch takes fewer lines on one side for the beginning or the end of the file. A trace has fewer
  // behind a call only at the end.
  const bool at_top = lines.line == 1 && first - all.begin() == static_cast<std::ptrdiff_t>(above);
  if (above < below && !at_top) below = above;
  const auto begin = first - static_cast<std::ptrdiff_t>(above);
  const auto end = last + static_cast<std::ptrdiff_t>(below);
  std::string body;
  int64_t removed = 0;
  int64_t added = 0;
  for (auto line = begin; line != end; ++line) {
    removed += line->sign != '+' ? 1 : 0;
    added += line->sign != '-' ? 1 : 0;
    body += line->sign;
    body += line->text;
    if (!line->text.ends_with('\n')) body += "\n\\ No newline at end of file\n";
  }
  const int64_t from = lines.line + (begin - all.begin());
  std::string hunk =
      fmt::format("@@ -{},{} +{},{} @@\n", from, removed, from + shift, added) + body;
  shift += added - removed;
  return hunk;
}

// Where git and reviews know files: from the root of the checkout that the job ran in. Of a file
// outside of it, below the job's folder, else below the root. Empty for a name that no diff can
// have.
std::string PathInDiff(const std::string& file, const trace::RunInfo& run) {
  const bool plain = std::none_of(file.begin(), file.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' || c == 0x7f;
  });
  if (!plain || !file.starts_with('/')) return "";
  for (const std::string& folder : {run.job.checkout, run.folder}) {
    const std::string below = folder.ends_with('/') ? folder : folder + "/";
    if (!folder.empty() && file.starts_with(below)) return file.substr(below.size());
  }
  return file.substr(1);
}

std::string UnifiedDiff(const SourceChange& change, const trace::RunInfo& run) {
  const std::string path = PathInDiff(change.file, run);
  if (path.empty()) return "";
  std::string hunks;
  int64_t shift = 0;
  for (const ChangedLines& lines : change.lines) hunks += HunkOf(lines, shift);
  // A tab ends a name that has blanks.
  const std::string end = path.find(' ') == std::string::npos ? "\n" : "\t\n";
  return hunks.empty() ? "" : "--- a/" + path + end + "+++ b/" + path + end + hunks;
}

SourceChange ChangeOf(const std::vector<SiteChange>& sites, const trace::RunInfo& run) {
  SourceChange change;
  change.file = sites.front().loader->info.file;
  change.line = sites.front().loader->info.line;
  change.lines = Merged(sites);
  std::vector<const SiteChange*> from_below;
  for (const SiteChange& site : sites) from_below.push_back(&site);
  // A change moves only what is behind it.
  std::stable_sort(from_below.begin(), from_below.end(), [](const auto* a, const auto* b) {
    return std::pair(FirstLine(*a), CallOf(*a).column) >
           std::pair(FirstLine(*b), CallOf(*b).column);
  });
  const SiteChange* previous = nullptr;
  for (const SiteChange* const site : from_below) {
    const auto lines =
        std::find_if(change.lines.begin(), change.lines.end(), [&](const auto& each) {
          return OffsetOf(each, FirstLine(*site), CallOf(*site).column).has_value();
        });
    const bool again = previous != nullptr && FirstLine(*previous) == FirstLine(*site) &&
                       CallOf(*previous).column == CallOf(*site).column;
    if (CallOf(*site).source.empty() || lines == change.lines.end()) {
      change.by_hand.push_back(WhyWithoutSource(*site));
    } else if (again) {
      change.by_hand.push_back(fmt::format("set {} for {} alone: {} constructs other loaders, too",
                                           Named(*site, site->settings), site->loader->name,
                                           PlaceOf(*site)));
    } else {
      ChangeCall(*site, *lines, change.by_hand);
    }
    previous = site;
  }
  std::erase_if(change.lines, [](const auto& lines) { return lines.before == lines.after; });
  change.diff = UnifiedDiff(change, run);
  if (change.diff.empty()) change.lines.clear();
  return change;
}

const model::Loader* LoaderNamed(const model::Run& run, std::string_view name) {
  const auto found = std::find_if(run.loaders.begin(), run.loaders.end(),
                                  [&](const auto& loader) { return loader.name == name; });
  return found == run.loaders.end() ? nullptr : &*found;
}

}  // namespace

Replacement ReplacementOf(const ChangedLines& lines) {
  const auto before = LinesOf(lines.before);
  const auto after = LinesOf(lines.after);
  const CommonEnds ends = CommonEndsOf(before, after);
  Replacement replacement;
  replacement.first = lines.line + static_cast<uint32_t>(ends.above);
  replacement.last = lines.line + static_cast<uint32_t>(before.size() - ends.below) - 1;
  for (size_t i = ends.above; i + ends.below < after.size(); ++i) replacement.text += after[i];
  return replacement;
}

std::vector<SourceChange> SourceChangesOf(const model::Run& run, const Patch& patch) {
  std::vector<SourceChange> changes;
  if (!model::IsJob(run)) return changes;
  std::vector<std::vector<SiteChange>> files;
  for (const auto& change : patch.changes) {
    const auto* const set = std::get_if<SetChange>(&change);
    const size_t dot = set == nullptr ? std::string::npos : set->path.rfind('.');
    if (dot == std::string::npos) continue;
    const model::Loader* const loader = LoaderNamed(run, set->path.substr(0, dot));
    if (loader == nullptr) continue;
    auto file = std::find_if(files.begin(), files.end(), [&](const auto& sites) {
      return sites.front().loader->info.file == loader->info.file;
    });
    if (file == files.end()) file = files.emplace(files.end());
    auto site = std::find_if(file->begin(), file->end(),
                             [&](const auto& each) { return each.loader == loader; });
    if (site == file->end()) site = file->insert(file->end(), SiteChange{loader, {}});
    site->settings.push_back({set->path.substr(dot + 1), set->value});
  }
  for (const auto& sites : files) changes.push_back(ChangeOf(sites, run.info));
  return changes;
}

std::string DiffOf(const std::vector<SourceChange>& changes) {
  std::string diff;
  for (const SourceChange& change : changes) diff += change.diff;
  return diff;
}

std::string PythonOf(std::string_view json, std::string_view source) {
  if (json == "true") return "True";
  if (json == "false") return "False";
  if (json == "null") return "None";
  const bool text = json.size() >= 2 && json.front() == '"';
  return text ? QuotedLike(source, json.substr(1, json.size() - 2)) : std::string(json);
}

}  // namespace stallscope::findings
