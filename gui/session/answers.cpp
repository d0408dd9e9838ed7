#include "gui/session/answers.h"

#include <algorithm>
#include <utility>

#include "gui/session/analysis.h"

namespace stallscope::session {

template <class Work, class Take>
void Answers::Answer(JobKind kind, std::string title, Work work, Take take) {
  ++pending_;
  desk_.workers.Start(
      kind, std::move(title),
      [this, work = std::move(work), take = std::move(take)](Ticket& job) {
        job.OnlyComputes();
        auto answer = std::make_shared<decltype(work(job))>(work(job));
        job.HandOver([this, take, answer] {
          --pending_;
          take(*answer);
          desk_.changed = true;
        });
      },
      [this](const Error&) { --pending_; });
}

Answers::Reading Answers::ReadingOf(const OpenRun* run) {
  if (run == nullptr || run->run == nullptr) return {};
  return {run->number, run->revision};
}

void Answers::Refresh() {
  RefreshShown();
  RefreshSpans();
  RefreshExplanation();
  RefreshComparison();
  RefreshFind();
}

void Answers::RefreshShown() {
  State& state = desk_.state;
  const OpenRun* const open = state.Active();
  const RangeKey wanted{ReadingOf(open), state.view.range};
  if (!wanted.range.has_value()) {
    // The whole run's are made when it is opened.
    const Analysis whole = open != nullptr ? open->whole : Analysis{};
    if (shown_ != wanted) desk_.workers.Cancel(JobKind::kAnalyze);
    shown_ = wanted;
    if (state.shown.report != whole.report || state.shown.attribution != whole.attribution) {
      state.shown = whole;
      desk_.changed = true;
    }
    return;
  }
  if (wanted == shown_ || wanted.of.run == kNoRun) return;
  shown_ = wanted;
  desk_.workers.Cancel(JobKind::kAnalyze);
  Answer(
      JobKind::kAnalyze, "finding the range's bottleneck",
      [run = open->run, range = *wanted.range, threads = desk_.options.threads](Ticket& job) {
        const auto part = workbench::ExamineRange(run, range.start_ns, range.end_ns,
                                                  {threads, Cancel(job.cancel_flag())});
        return part.has_value() ? AnalysisOf(part->opened, range) : Analysis{};
      },
      [this, wanted](const Analysis& analysis) {
        if (wanted != shown_) return;
        if (analysis.report != nullptr) {
          desk_.state.shown = analysis;
        } else {
          // Canceled by the user: no panel may say that it is limited to the range.
          navigation_.On(intent::LimitRange{std::nullopt});
        }
      });
}

void Answers::On(const intent::QuerySpans& query) {
  desk_.state.spans.query = query.query;
  desk_.changed = true;
}

void Answers::RefreshSpans() {
  State& state = desk_.state;
  const OpenRun* const open = state.Active();
  if (open == nullptr || open->spans == nullptr) {
    if (state.spans.list != nullptr) {
      state.spans.list.reset();
      state.spans.statistics.reset();
      spans_.reset();
      desk_.changed = true;
    }
    return;
  }
  // Millions of rows are listed only while the panel is shown.
  if (state.view.panel != Panel::kSpans) return;
  SpansKey wanted{ReadingOf(open), state.spans.query};
  wanted.query.range = state.view.range;
  if (spans_ == wanted) return;
  // Rows of another run mean nothing in this one.
  if (!spans_.has_value() || spans_->of != wanted.of) state.spans.list.reset();
  spans_ = wanted;
  state.spans.first = 0;
  state.spans.last = 0;
  state.spans.statistics.reset();
  desk_.changed = true;
  desk_.workers.Cancel(JobKind::kSpans);
  Answer(
      JobKind::kSpans, "listing spans",
      [table = open->spans, wanted, threads = desk_.options.threads](Ticket& job) {
        return ListSpans(*table, wanted.query, job.cancel_flag(), threads);
      },
      [this, wanted](Result<SpanList>& list) {
        if (spans_ != wanted) return;
        SpanListing& listing = desk_.state.spans;
        listing.error.reset();
        if (list.ok()) {
          listing.list = std::make_shared<const SpanList>(std::move(list).value());
        } else {
          listing.error = list.error();
        }
      });
}

void Answers::On(const intent::SelectSpanRows& select) {
  SpanListing& listing = desk_.state.spans;
  const OpenRun* const open = desk_.state.Active();
  if (listing.list == nullptr || open == nullptr || open->spans == nullptr) return;
  const size_t count = listing.list->rows.size();
  listing.first = std::min(select.first, count);
  listing.last = std::clamp(select.last, listing.first, count);
  listing.statistics.reset();
  desk_.changed = true;
  if (listing.first == listing.last) return;
  Answer(
      JobKind::kSpans, "summarizing the selection",
      [table = open->spans, list = listing.list, first = listing.first,
       last = listing.last](Ticket&) { return StatisticsOf(*table, list->rows, first, last); },
      [this, list = listing.list, first = listing.first,
       last = listing.last](const DurationStatistics& statistics) {
        SpanListing& now = desk_.state.spans;
        if (now.list != list || now.first != first || now.last != last) return;
        now.statistics = std::make_shared<const DurationStatistics>(statistics);
      });
}

void Answers::RefreshExplanation() {
  State& state = desk_.state;
  const OpenRun* const open = state.Active();
  // It is found from what the opening lays.
  const bool ready = open != nullptr && open->groundwork != nullptr;
  const ExplainKey wanted{ready ? ReadingOf(open) : Reading{}, state.view.selected.step_row,
                          state.view.selected.followed};
  if (wanted == explained_) return;
  const ExplainKey before = std::exchange(explained_, wanted);
  const bool other_step = before.of != wanted.of || before.step_row != wanted.step_row;
  if (other_step) {
    state.explanation.chain.clear();
    state.explanation.step_row.reset();
  }
  if (before.of != wanted.of || before.followed != wanted.followed) state.explanation.path.reset();
  desk_.changed = true;
  desk_.workers.Cancel(JobKind::kExplain);
  if (wanted.of.run == kNoRun || (!wanted.step_row.has_value() && !wanted.followed.known())) return;
  Answer(
      JobKind::kExplain, "explaining the selection",
      [wanted, run = open->run, ground = open->groundwork,
       threads = desk_.options.threads](Ticket& job) {
        std::optional<Explanation> explanation{std::in_place};
        explanation->step_row = wanted.step_row;
        if (wanted.step_row.has_value() && *wanted.step_row < run->rows.steps.size()) {
          auto chain = attribution::ExplainStall(*ground, *wanted.step_row, threads,
                                                 Cancel(job.cancel_flag()));
          // An empty chain would say that there was no stall.
          if (!chain.has_value()) return std::optional<Explanation>();
          explanation->chain = *std::move(chain);
        }
        if (wanted.followed.known() && !job.cancelled()) {
          explanation->path = PathOf(*run, wanted.followed);
        }
        return explanation;
      },
      [this, wanted](const std::optional<Explanation>& explanation) {
        if (wanted == explained_ && explanation) desk_.state.explanation = *explanation;
      });
}

void Answers::On(const intent::SetBase& base) {
  if (base.run != kNoRun && desk_.state.Run(base.run) == nullptr) return;
  desk_.state.compare.base = base.run;
  desk_.changed = true;
}

void Answers::On(const intent::LinkZoom& link) {
  desk_.state.compare.linked_zoom = link.linked;
  desk_.changed = true;
}

void Answers::RefreshComparison() {
  State& state = desk_.state;
  const OpenRun* const base = state.Run(state.compare.base);
  const OpenRun* const now = state.Active();
  const bool both = base != nullptr && now != nullptr && base != now &&
                    base->whole.attribution != nullptr && now->whole.attribution != nullptr;
  const CompareKey wanted = both ? CompareKey{ReadingOf(base), ReadingOf(now)} : CompareKey{};
  if (wanted == compared_) return;
  compared_ = wanted;
  state.compare.comparison.reset();
  state.compare.base_summary.reset();
  state.compare.now_summary.reset();
  desk_.changed = true;
  if (!both) return;
  Answer(
      JobKind::kCompare, "comparing " + base->title + " with " + now->title,
      [before = OpenedOf(*base), after = OpenedOf(*now)](Ticket&) {
        CompareState result;
        result.base_summary =
            std::make_shared<const compare::RunSummary>(workbench::Summarize(before));
        result.now_summary =
            std::make_shared<const compare::RunSummary>(workbench::Summarize(after));
        result.comparison = std::make_shared<const compare::Comparison>(
            compare::Compare({*result.base_summary}, {*result.now_summary}));
        return result;
      },
      [this, wanted](const CompareState& result) {
        if (wanted != compared_) return;
        CompareState& compare = desk_.state.compare;
        compare.comparison = result.comparison;
        compare.base_summary = result.base_summary;
        compare.now_summary = result.now_summary;
      });
}

void Answers::On(const intent::Find& find) {
  desk_.state.find_text = find.text;
  desk_.changed = true;
}

void Answers::RefreshFind() {
  State& state = desk_.state;
  const OpenRun* const open = state.Active();
  const FindKey wanted{ReadingOf(open), state.find_text};
  if (wanted == found_ || (open != nullptr && open->run != nullptr && open->spans == nullptr))
    return;
  found_ = wanted;
  hits_.reset();
  state.find_hits = 0;
  state.find_at = 0;
  desk_.changed = true;
  if (wanted.text.empty() || open == nullptr || open->spans == nullptr) return;
  desk_.workers.Cancel(JobKind::kFind);
  SpanQuery query;
  query.filter = wanted.text;
  Answer(
      JobKind::kFind, "searching for '" + wanted.text + "'",
      [table = open->spans, query, threads = desk_.options.threads](Ticket& job) {
        return ListSpans(*table, query, job.cancel_flag(), threads);
      },
      [this, wanted, table = open->spans](Result<SpanList>& list) {
        if (wanted != found_ || !list.ok()) return;
        hits_ = std::make_shared<const SpanList>(std::move(list).value());
        desk_.state.find_hits = hits_->rows.size();
        if (hits_->rows.empty()) return;
        // The first one that is not before what is shown.
        const int64_t from = desk_.state.view.visible.start_ns;
        const auto first =
            std::partition_point(hits_->rows.begin(), hits_->rows.end(),
                                 [&](SpanRowNumber row) { return table->At(row).start_ns < from; });
        GoToHit(first == hits_->rows.end() ? 0 : static_cast<size_t>(first - hits_->rows.begin()));
      });
}

void Answers::On(const intent::FindNext& next) {
  if (hits_ == nullptr || hits_->rows.empty()) return;
  const size_t count = hits_->rows.size();
  GoToHit((desk_.state.find_at + (next.direction > 0 ? 1 : count - 1)) % count);
}

void Answers::GoToHit(size_t hit) {
  const OpenRun* const open = desk_.state.Active();
  if (open == nullptr || open->spans == nullptr) return;
  desk_.state.find_at = hit;
  navigation_.Reveal(open->spans->RefOf(hits_->rows[hit]));
}

}  // namespace stallscope::session
