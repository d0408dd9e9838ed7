#include "analyzer/report/job_section.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "analyzer/base/escape.h"
#include "analyzer/model/job_spec.h"
#include "analyzer/words/words.h"

namespace stallscope::report {
namespace {

// More processes are condensed: a table in a text report shows no more rows.
constexpr size_t kMostProcesses = 12;

// As Python writes it, without a string's quotes.
std::string PythonValue(const std::string& json) {
  if (json == "true") return "True";
  if (json == "false") return "False";
  if (!json.starts_with('"')) return json;
  const auto text = nlohmann::json::parse(json, nullptr, false);
  return text.is_string() ? text.get<std::string>() : json;
}

// "worker" of "worker 12": what processes of a kind have in common.
std::string KindOf(const std::string& name) {
  const size_t end = name.find_last_not_of("0123456789");
  if (end == std::string::npos || end + 1 == name.size()) return name;
  const size_t last = name.find_last_not_of(" -_:#", end);
  return last == std::string::npos ? name : name.substr(0, last + 1);
}

template <class T>
void Fold(const std::optional<T>& one, bool most, std::optional<T>& into) {
  if (one.has_value() && (!into.has_value() || (most ? *one > *into : *one < *into))) into = one;
}

// The extremes of several processes.
ProcessRow Extreme(const std::vector<ProcessRow>& processes, bool most, std::string name) {
  ProcessRow row{std::move(name), 0, processes.front().lived_ns, {}};
  for (const ProcessRow& process : processes) {
    row.lived_ns =
        most ? std::max(row.lived_ns, process.lived_ns) : std::min(row.lived_ns, process.lived_ns);
    Fold(process.use.cpu_ns, most, row.use.cpu_ns);
    Fold(process.use.run_wait_ns, most, row.use.run_wait_ns);
    Fold(process.use.read_bytes, most, row.use.read_bytes);
    Fold(process.use.disk_bytes, most, row.use.disk_bytes);
    Fold(process.use.peak_rss_bytes, most, row.use.peak_rss_bytes);
  }
  return row;
}

std::string DurationOrDash(const std::optional<int64_t>& ns) {
  return ns.has_value() ? words::Duration(*ns) : std::string(words::kUnknown);
}

std::vector<std::string> RowOf(const ProcessRow& process) {
  return {process.name,
          process.pid == 0 ? "" : std::to_string(process.pid),
          words::Duration(process.lived_ns),
          DurationOrDash(process.use.cpu_ns),
          DurationOrDash(process.use.run_wait_ns),
          words::BytesOrDash(process.use.read_bytes),
          words::BytesOrDash(process.use.disk_bytes),
          words::BytesOrDash(process.use.peak_rss_bytes)};
}

List JobFacts(const Report& report) {
  List list;
  const auto add = [&](const char* tag, std::string text, bool whole) {
    if (!text.empty()) list.items.push_back({tag, std::move(text), Tone::kPlain, whole});
  };
  add("command", ShellCommand(report.job.command), true);
  add("folder", report.folder, true);
  add("software", SoftwareOf(report.job), false);
  if (report.job.exit_code.value_or(0) != 0) {
    list.items.push_back({"end", ExitPhrase(*report.job.exit_code), Tone::kBad});
  }
  return list;
}

// "DataLoader of Images, constructed at /home/u/train.py:12, fed 60 steps: num_workers=2, ..."
List LoaderList(const std::vector<model::Loader>& loaders) {
  List list;
  list.more = "loader";
  for (const model::Loader& loader : loaders) {
    std::string text = LoaderPhrase(loader.info);
    const std::string place = words::WholePlace(loader.info.file, loader.info.line);
    if (!place.empty()) text += ", constructed at " + place;
    text += ", " + FedPhrase(loader, loaders);
    std::string settings;
    for (const auto& [name, value] : SettingsInCode(loader.info)) {
      settings += (settings.empty() ? ": " : ", ") + name + "=" + value;
    }
    list.items.push_back({loader.name, text + settings, Tone::kPlain});
  }
  return list;
}

}  // namespace

void AddJob(const Report& report, Document& document) {
  if (report.job.command.empty()) return;
  document.blocks.push_back({Heading{"Job", true}});
  document.blocks.push_back({JobFacts(report)});
  if (!report.loaders.empty()) document.blocks.push_back({LoaderList(report.loaders)});
  if (report.processes.empty()) return;
  document.blocks.push_back({Heading{"Processes", true}});
  const bool many = report.processes.size() > kMostProcesses;
  document.blocks.push_back({ProcessTable(report.processes, many)});
}

Table ProcessTable(const std::vector<ProcessRow>& processes, bool condensed) {
  Table table{{{"process", false, true},
               {"pid", true},
               {"lived", true},
               {"CPU", true},
               {"run-queue wait", true},
               {"read", true},
               {"from disk", true},
               {"peak memory", true}},
              {},
              "row"};
  if (!condensed) {
    for (const ProcessRow& process : processes) table.rows.push_back(RowOf(process));
    return table;
  }
  std::vector<std::string> kinds;  // as they first appear
  std::map<std::string, std::vector<ProcessRow>> of_kind;
  for (const ProcessRow& process : processes) {
    std::vector<ProcessRow>& same = of_kind[KindOf(process.name)];
    if (same.empty()) kinds.push_back(KindOf(process.name));
    same.push_back(process);
  }
  for (const std::string& kind : kinds) {
    const std::vector<ProcessRow>& same = of_kind[kind];
    if (same.size() == 1) {
      table.rows.push_back(RowOf(same[0]));
      continue;
    }
    const std::string name = fmt::format("{} x {}", same.size(), kind);
    table.rows.push_back(RowOf(Extreme(same, false, name + ", least")));
    table.rows.push_back(RowOf(Extreme(same, true, name + ", most")));
  }
  return table;
}

std::vector<std::pair<std::string, std::string>> SettingsInCode(const trace::LoaderInfo& loader) {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const auto& [name, value] : model::SettingsOf(loader)) {
    if (value != "null") settings.emplace_back(name, PythonValue(value));
  }
  const auto rank = [](const std::string& name) {
    const auto& knobs = model::kLoaderKnobs;
    return std::find(knobs.begin(), knobs.end(), name) - knobs.begin();
  };
  std::stable_sort(settings.begin(), settings.end(),
                   [&](const auto& a, const auto& b) { return rank(a.first) < rank(b.first); });
  return settings;
}

std::string LoaderPhrase(const trace::LoaderInfo& loader) {
  const std::string kind = loader.kind.substr(loader.kind.rfind('.') + 1);
  const std::string name = kind.empty() ? "loader" : kind;
  return loader.dataset.empty() ? name : name + " of " + loader.dataset;
}

std::string FedPhrase(const model::Loader& loader, std::span<const model::Loader> all) {
  const bool ranks = std::any_of(all.begin(), all.end(), [&](const model::Loader& other) {
    return other.rank != loader.rank;
  });
  return "fed " + words::Counted(loader.steps, "step") +
         (ranks ? fmt::format(" of rank {}", loader.rank) : "");
}

std::string StepsPhrase(const model::Run& run) {
  std::map<uint32_t, size_t> by_rank;
  for (const uint32_t rank : run.step_ranks) ++by_rank[rank];
  const auto counted = [](size_t steps) {
    return fmt::format("{} step{}", steps, steps == 1 ? "" : "s");
  };
  if (by_rank.empty()) return counted(run.rows.steps.size());
  const auto [least, most] =
      std::minmax_element(by_rank.begin(), by_rank.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
  const std::string from =
      least->second == most->second ? "" : std::to_string(least->second) + " to ";
  return fmt::format("{}{} on each of {} ranks", from, counted(most->second), by_rank.size());
}

std::string StepsFact(const model::Run& run) {
  return run.step_ranks.empty() ? words::Grouped(run.rows.steps.size()) : StepsPhrase(run);
}

std::string SoftwareOf(const trace::JobInfo& job) {
  std::string text = job.python.empty() ? "" : "Python " + job.python;
  for (const auto& framework : job.frameworks) {
    text += (text.empty() ? "" : ", ") + framework.name + " " + framework.version;
  }
  return text;
}

}  // namespace stallscope::report
