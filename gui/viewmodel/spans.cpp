#include "gui/viewmodel/spans.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analyzer/words/words.h"
#include "gui/viewmodel/axis.h"

namespace stallscope::viewmodel {
namespace {

std::vector<std::string> LinesOf(const session::DurationStatistics& statistics, const char* of) {
  if (statistics.count == 0) return {};
  const auto text = [](double ns) {
    return words::Duration(static_cast<int64_t>(std::llround(ns)));
  };
  return {
      words::Grouped(statistics.count) + " " + of + ", total " + words::Duration(statistics.sum_ns),
      "mean " + text(statistics.mean_ns) + ", p50 " + text(statistics.p50_ns) + ", p95 " +
          text(statistics.p95_ns) + ", p99 " + text(statistics.p99_ns),
      "min " + words::BothNs(statistics.min_ns) + ", max " + words::BothNs(statistics.max_ns)};
}

Histogram HistogramOf(const session::DurationStatistics& statistics) {
  Histogram histogram;
  if (statistics.histogram.empty()) return histogram;
  histogram.low = static_cast<double>(statistics.min_ns);
  histogram.high = static_cast<double>(statistics.max_ns);
  histogram.unit = "ns";
  histogram.bins = statistics.histogram;
  histogram.most = *std::max_element(histogram.bins.begin(), histogram.bins.end());
  const double low = std::log(std::max(histogram.low, 1.0));
  const double high = std::log(std::max(histogram.high, 1.0));
  histogram.tick_texts = TickTexts(low, high, [](double at) {
    return words::Duration(static_cast<int64_t>(std::llround(std::exp(at))));
  });
  return histogram;
}

}  // namespace

SpansModel BuildSpans(const session::State& state) {
  SpansModel model;
  for (size_t i = 0; i < session::kSpanColumns; ++i) {
    model.columns[i] = session::WordFor(static_cast<session::SpanColumn>(i));
  }
  const session::OpenRun* const open = state.Active();
  if (open == nullptr || open->spans == nullptr) {
    model.nothing = "No run is open.";
    return model;
  }
  const session::SpanListing& listing = state.spans;
  model.all = open->spans->size();
  model.sort = listing.query.sort;
  model.descending = listing.query.descending;
  model.busy = std::any_of(state.jobs.begin(), state.jobs.end(), [](const session::Job& job) {
    return job.kind == session::JobKind::kSpans;
  });
  if (listing.error.has_value()) model.problem = listing.error->Line();
  if (listing.list == nullptr) return model;
  model.rows = listing.list->rows.size();
  model.count = model.rows == model.all
                    ? words::Grouped(model.all)
                    : words::Grouped(model.rows) + " of " + words::Grouped(model.all);
  const bool some = listing.statistics != nullptr && listing.last > listing.first;
  const session::DurationStatistics& statistics =
      some ? *listing.statistics : listing.list->statistics;
  model.statistics = LinesOf(statistics, some ? "selected" : "listed");
  model.histogram = HistogramOf(statistics);
  return model;
}

SpanRowText SpanRowAt(const session::State& state, size_t row) {
  SpanRowText text;
  const session::OpenRun* const open = state.Active();
  if (open == nullptr || open->spans == nullptr || state.spans.list == nullptr ||
      row >= state.spans.list->rows.size()) {
    return text;
  }
  const session::SpanRow span = open->spans->At(state.spans.list->rows[row]);
  text.ref = span.ref;
  text.selected = (row >= state.spans.first && row < state.spans.last) ||
                  state.view.selected.interval == span.ref;
  const int64_t origin = open->index != nullptr ? open->index->window.start_ns : 0;
  text.cells = {words::ExactNs(span.start_ns - origin),
                words::Duration(span.duration_ns),
                std::string(span.track),
                std::string(span.kind),
                std::string(span.name),
                std::string(span.cause),
                span.item.known() ? std::to_string(span.item.value) : std::string(),
                span.bytes > 0 ? words::Bytes(span.bytes) : std::string()};
  return text;
}

Table SpanRows(const session::State& state, size_t first, size_t last) {
  Table table;
  const session::OpenRun* const open = state.Active();
  if (open == nullptr || open->spans == nullptr || state.spans.list == nullptr) return table;
  table.columns = {{"start_ns", true}, {"duration_ns", true}, {"track", false}, {"kind", false},
                   {"name", false},    {"cause", false},      {"item", true},   {"bytes", true}};
  last = std::min({last, state.spans.list->rows.size(), first + kMostCopiedRows});
  for (size_t row = first; row < last; ++row) {
    const session::SpanRow span = open->spans->At(state.spans.list->rows[row]);
    table.rows.push_back({{std::to_string(span.start_ns)},
                          {std::to_string(span.duration_ns)},
                          {std::string(span.track)},
                          {std::string(span.kind)},
                          {std::string(span.name)},
                          {std::string(span.cause)},
                          {span.item.known() ? std::to_string(span.item.value) : ""},
                          {std::to_string(span.bytes)}});
  }
  return table;
}

}  // namespace stallscope::viewmodel
