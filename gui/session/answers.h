// What follows from the state and takes a worker: the figures of a range, the listed spans, the
// explanation of a stall, the comparison. Each change checks whether the answers still fit the
// questions. Private to the room; the session's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "gui/session/desk.h"
#include "gui/session/intents.h"
#include "gui/session/navigation.h"

namespace stallscope::session {

class Answers {
 public:
  Answers(Desk& desk, Navigation& navigation) : desk_(desk), navigation_(navigation) {}

  void On(const intent::QuerySpans& query);
  void On(const intent::SelectSpanRows& select);
  void On(const intent::Find& find);
  void On(const intent::FindNext& next);
  void On(const intent::SetBase& base);
  void On(const intent::LinkZoom& link);

  // Starts what is missing, cancels and drops what is out of date.
  void Refresh();
  // Nothing is missing and nothing is on its way.
  bool settled() const { return pending_ == 0; }

 private:
  // A reading of a run.
  struct Reading {
    RunNumber run = kNoRun;
    uint64_t revision = 0;
    bool operator==(const Reading&) const = default;
  };
  struct RangeKey {
    Reading of;
    std::optional<Range> range;
    bool operator==(const RangeKey&) const = default;
  };
  struct SpansKey {
    Reading of;
    SpanQuery query;
    bool operator==(const SpansKey&) const = default;
  };
  struct ExplainKey {
    Reading of;
    std::optional<uint64_t> step_row;
    ItemId followed;
    bool operator==(const ExplainKey&) const = default;
  };
  struct CompareKey {
    Reading base;
    Reading now;
    bool operator==(const CompareKey&) const = default;
  };
  struct FindKey {
    Reading of;
    std::string text;
    bool operator==(const FindKey&) const = default;
  };

  static Reading ReadingOf(const OpenRun* run);
  // `work` computes an answer on a worker, `take` gets it on the session's thread.
  template <class Work, class Take>
  void Answer(JobKind kind, std::string title, Work work, Take take);
  void RefreshShown();
  void RefreshSpans();
  void RefreshExplanation();
  void RefreshComparison();
  void RefreshFind();
  void GoToHit(size_t hit);

  Desk& desk_;
  Navigation& navigation_;
  int pending_ = 0;
  RangeKey shown_;
  std::optional<SpansKey> spans_;
  ExplainKey explained_;
  CompareKey compared_;
  FindKey found_;
  std::shared_ptr<const SpanList> hits_;
};

}  // namespace stallscope::session
