#include "gui/viewmodel/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/words/words.h"
#include "gui/viewmodel/phrases.h"

namespace stallscope::viewmodel {

PlaceText PlaceOf(const std::string& file, uint32_t line) {
  return {words::WholePlace(file, line), words::PlaceInCode(file, line)};
}

// "decode waits (full)", or its name.
std::string SpanTitle(const session::SpanRow& row) {
  const std::string name(row.name.empty() ? row.kind : row.name);
  return row.kind == "wait" ? name + " waits (" + std::string(row.cause) + ")" : name;
}

namespace {

std::string DescribeStep(const session::OpenRun& run, uint64_t step_row) {
  if (run.run == nullptr || step_row >= run.run->rows.steps.size()) return "";
  std::string text = "step " + words::Grouped(run.run->rows.steps[step_row].index);
  std::vector<attribution::StallDetail> parts;
  if (run.stalls != nullptr) {
    std::copy_if(run.stalls->begin(), run.stalls->end(), std::back_inserter(parts),
                 [&](const attribution::StallDetail& part) { return part.step_row == step_row; });
  }
  if (parts.empty()) return text + " did not wait for input";
  int64_t all = 0;
  for (const attribution::StallDetail& part : parts) all += part.ns;
  std::sort(parts.begin(), parts.end(),
            [](const attribution::StallDetail& a, const attribution::StallDetail& b) {
              return a.ns > b.ns;
            });
  text += " waited " + words::BothNs(all) + ":";
  constexpr size_t kMost = 4;
  for (size_t i = 0; i < std::min(kMost, parts.size()); ++i) {
    const std::string stage =
        parts[i].stage.known() ? std::string(run.run->NameOf(parts[i].stage)) : "unknown";
    text += (i == 0 ? " " : ", ") + stage + " " + NameOf(parts[i].cause) + " " +
            words::Percent(static_cast<double>(parts[i].ns) /
                           static_cast<double>(std::max<int64_t>(1, all)));
  }
  return text;
}

std::string DescribePath(const session::ItemPath& path) {
  std::string text = "item " + std::to_string(path.item.value);
  if (!path.file.empty()) {
    text += " of " + path.file + ", record " + words::Grouped(path.record);
  }
  if (path.bytes > 0) text += ", " + words::Bytes(path.bytes);
  if (path.step) text += ", used by step " + words::Grouped(*path.step);
  if (path.stops.size() > 1) {
    const int64_t way = path.stops.back().when.end_ns - path.stops.front().when.start_ns;
    text += ": " + words::Duration(way) + " end to end, " + std::to_string(path.stops.size()) +
            " stops";
  }
  return text;
}

std::string DescribeSpan(const session::OpenRun& run, const session::IntervalRef& ref) {
  if (run.spans == nullptr || !run.spans->RowOf(ref)) return "";
  const session::SpanRow row = run.spans->At(ref);
  std::string text =
      SpanTitle(row) + ", " + words::BothNs(row.duration_ns) + ", on " + std::string(row.track);
  if (row.item.known()) {
    text += ", item " + std::to_string(row.item.value) + " (press P to follow it)";
  }
  return text;
}

PlaceText PlaceOfOp(const trace::OpInfo* op) {
  return op == nullptr ? PlaceText() : PlaceOf(op->file, op->line);
}

template <class Key>
typename std::map<Key, int64_t>::const_iterator Largest(const std::map<Key, int64_t>& sums) {
  return std::max_element(sums.begin(), sums.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
}

// The thread and stage that explain most of the stall, and the op in it.
void AddLead(const session::OpenRun& open, const session::State& state, SelectionModel& model) {
  const model::Run& run = *open.run;
  std::map<std::pair<TrackId, StageId>, int64_t> parts;
  for (const attribution::ChainLink& link : state.explanation.chain) {
    if (link.track.known()) parts[{link.track, link.stage}] += link.end_ns - link.start_ns;
  }
  if (parts.empty()) return;
  const auto& [where, ns] = *Largest(parts);
  const std::string process = ProcessOf(run, where.first);
  if (process.empty()) return;
  model.lead =
      fmt::format("{}: {} for {}", process,
                  where.second.known() ? run.NameOf(where.second) : "unknown", words::Duration(ns));
  std::map<trace::StringId, int64_t> ops;
  for (const attribution::ChainLink& link : state.explanation.chain) {
    if (std::pair(link.track, link.stage) != where || !link.op.known()) continue;
    ops[link.op] += link.end_ns - link.start_ns;
  }
  if (!ops.empty()) {
    const auto& [op, of_op] = *Largest(ops);
    model.lead += fmt::format(", of which {} {}", run.Text(op), words::Duration(of_op));
    model.place = PlaceOfOp(run.OpOf(op));
    return;
  }
  // The ops of some batches only are recorded: what usually takes longest is the best hint.
  if (open.whole.attribution == nullptr || !where.second.known()) return;
  const attribution::StageUse& use = open.whole.attribution->stages[where.second.value];
  if (use.ops.empty()) return;
  const attribution::OpUse& op = use.ops.front();
  model.lead +=
      fmt::format("; the ops of this batch were not recorded, {} takes {} of {} in others", op.name,
                  words::PercentOrDash(attribution::ShareOfStage(op, use.sampled_ns)),
                  run.NameOf(where.second));
  model.place = PlaceOf(op.file, op.line);
}

}  // namespace

SelectionModel DescribeSelection(const session::State& state) {
  SelectionModel model;
  const session::OpenRun* run = state.Active();
  if (run == nullptr) return model;
  const session::Selection& selected = state.view.selected;
  if (selected.followed.known() && state.explanation.path) {
    model.text = DescribePath(*state.explanation.path);
  } else if (selected.step_row) {
    model.text = DescribeStep(*run, *selected.step_row);
    if (state.explanation.step_row == selected.step_row) AddLead(*run, state, model);
  } else if (selected.interval) {
    model.text = DescribeSpan(*run, *selected.interval);
    if (model.text.empty() || !selected.interval->track.known()) return model;
    model.lead = ProcessOf(*run->run, selected.interval->track);
    model.place = PlaceOf(*run->run, *selected.interval);
  }
  return model;
}

std::string ProcessOf(const model::Run& run, TrackId track) {
  const ProcessId id = run.tracks[track.value].info.process;
  if (!id.known()) return "";
  const trace::ProcessInfo& process = run.processes[id.value];
  return fmt::format("{} (pid {})", process.name, process.pid);
}

PlaceText PlaceOf(const model::Run& run, const session::IntervalRef& span) {
  if (span.kind != session::IntervalKind::kSpan || !span.track.known()) return {};
  return PlaceOfOp(run.OpOf(run.ClassOf(run.tracks[span.track.value], span.index).name));
}

}  // namespace stallscope::viewmodel
