#include "gui/views/timeline_details.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "gui/viewmodel/format.h"

namespace stallscope::views {
namespace {

using attribution::StallDetail;

std::string DescribeStep(const session::OpenRun& run, uint64_t step_row) {
  if (run.run == nullptr || step_row >= run.run->rows.steps.size()) return "";
  std::string text = "step " + viewmodel::Grouped(run.run->rows.steps[step_row].index);
  std::vector<StallDetail> parts;
  if (run.stalls != nullptr) {
    std::copy_if(run.stalls->begin(), run.stalls->end(), std::back_inserter(parts),
                 [&](const StallDetail& part) { return part.step_row == step_row; });
  }
  if (parts.empty()) return text + " did not wait for input";
  int64_t all = 0;
  for (const StallDetail& part : parts) all += part.ns;
  std::sort(parts.begin(), parts.end(),
            [](const StallDetail& a, const StallDetail& b) { return a.ns > b.ns; });
  text += " waited " + viewmodel::BothNs(all) + ":";
  constexpr size_t kMost = 4;
  for (size_t i = 0; i < std::min(kMost, parts.size()); ++i) {
    const std::string stage =
        parts[i].stage.known() ? std::string(run.run->NameOf(parts[i].stage)) : "unknown";
    std::string cause(attribution::WordFor(parts[i].cause));
    std::replace(cause.begin(), cause.end(), '_', ' ');
    text += (i == 0 ? " " : ", ") + stage + " " + cause + " " +
            viewmodel::Percent(static_cast<double>(parts[i].ns) /
                               static_cast<double>(std::max<int64_t>(1, all)));
  }
  return text;
}

std::string DescribePath(const session::ItemPath& path) {
  std::string text = "item " + std::to_string(path.item.value);
  if (!path.file.empty()) {
    text += " of " + path.file + ", record " + viewmodel::Grouped(path.record);
  }
  if (path.bytes > 0) text += ", " + viewmodel::BytesText(path.bytes);
  if (path.step) text += ", taken by step " + viewmodel::Grouped(*path.step);
  if (path.stops.size() > 1) {
    const int64_t way = path.stops.back().when.end_ns - path.stops.front().when.start_ns;
    text += ": " + viewmodel::ShortNs(way) + " on its way through " +
            std::to_string(path.stops.size()) + " stops";
  }
  return text;
}

std::string DescribeSpan(const session::OpenRun& run, const session::IntervalRef& ref) {
  if (run.spans == nullptr || !run.spans->RowOf(ref)) return "";
  const session::SpanRow row = run.spans->At(ref);
  std::string text(row.name.empty() ? row.kind : row.name);
  if (row.kind == "wait") text += " waits (" + std::string(row.cause) + ")";
  text += ", " + viewmodel::BothNs(row.duration_ns) + ", on " + std::string(row.track);
  if (row.item.known()) {
    text += ", item " + std::to_string(row.item.value) + " (P follows it)";
  }
  return text;
}

}  // namespace

std::string DescribeSelection(const session::State& state) {
  const session::OpenRun* run = state.Active();
  if (run == nullptr) return "";
  const session::Selection& selected = state.view.selected;
  if (selected.followed.known() && state.explanation.path) {
    return DescribePath(*state.explanation.path);
  }
  if (selected.step_row) return DescribeStep(*run, *selected.step_row);
  if (selected.interval) return DescribeSpan(*run, *selected.interval);
  return "";
}

}  // namespace stallscope::views
