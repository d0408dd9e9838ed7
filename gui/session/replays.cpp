#include "gui/session/replays.h"

#include <algorithm>
#include <utility>

#include "analyzer/base/file.h"
#include "gui/session/open_files.h"

namespace stallscope::session {
namespace {

std::string Said(const ReplayTold& told) {
  return told.doing + ": " + std::to_string(told.done) + " of " + std::to_string(told.total);
}

std::optional<double> Part(const ReplayTold& told) {
  if (told.total == 0) return std::nullopt;
  return static_cast<double>(told.done) / static_cast<double>(told.total);
}

}  // namespace

std::optional<ReplaySubject> Replays::Subject() {
  const OpenRun* const open = desk_.state.Active();
  if (open == nullptr || open->whole.report == nullptr) {
    desk_.Notify(NoticeLevel::kWarning, "nothing can be replayed before the run is analysed");
    return std::nullopt;
  }
  // Runs disturb each other, and a recording most of all.
  if (desk_.state.sweep.running || desk_.state.verify.running || desk_.state.record.running) {
    desk_.Notify(NoticeLevel::kWarning,
                 "another run is being made; two at a time would disturb each other");
    return std::nullopt;
  }
  ReplaySubject subject;
  subject.run = open->run;
  subject.attribution = open->whole.attribution;
  subject.report = open->whole.report;
  subject.program = desk_.options.program;
  subject.threads = desk_.options.threads;
  return subject;
}

std::string Replays::Fallback() {
  if (!scratch_.has_value()) {
    auto made = ScratchFolder::Make();
    if (!made.ok()) return "/tmp";
    scratch_.emplace(std::move(made).value());
  }
  return scratch_->path();
}

bool Replays::MayRun(const ReplaySubject& subject, const Waiting& wanted) {
  // What has no spec is refused where it would be run, which says why.
  if (subject.run->info.spec_json.empty()) return true;
  const auto spec = SpecOfRun(*subject.run, *subject.attribution);
  if (!spec.ok()) return true;
  const auto question = RerunQuestionOf(*subject.run, spec.value());
  const auto agreed = agreed_.find(desk_.state.active);
  if (!question.has_value() || (agreed != agreed_.end() && agreed->second == *question)) {
    return true;
  }
  waiting_ = wanted;
  asked_about_ = desk_.state.active;
  desk_.state.question = *question;
  desk_.state.overlay = Overlay::kQuestion;
  desk_.changed = true;
  return false;
}

void Replays::On(const intent::ConfirmRerun&) {
  if (!waiting_.has_value() || desk_.state.active != asked_about_) return;
  const Waiting wanted = *std::exchange(waiting_, std::nullopt);
  agreed_[desk_.state.active] = desk_.state.question;
  desk_.state.overlay = Overlay::kNone;
  desk_.changed = true;
  std::visit([this](const auto& intent) { On(intent); }, wanted);
}

void Replays::On(const intent::CancelRerun&) {
  if (desk_.state.overlay == Overlay::kQuestion) desk_.state.overlay = Overlay::kNone;
  waiting_.reset();
  desk_.changed = true;
}

void Replays::Refresh() {
  if (desk_.state.overlay != Overlay::kQuestion) {
    waiting_.reset();
  } else if (waiting_.has_value() && desk_.state.active != asked_about_) {
    // An answer for one run must not start another.
    On(intent::CancelRerun{});
  }
}

void Replays::On(const intent::EditSweep& edit) {
  SweepState& sweep = desk_.state.sweep;
  sweep.vary = edit.vary;
  sweep.mode = edit.mode;
  sweep.repeats = std::max(edit.repeats, 1U);
  sweep.problems.assign(edit.vary.size(), "");
  sweep.points = 0;
  desk_.changed = true;
  const OpenRun* const open = desk_.state.Active();
  if (open == nullptr || open->whole.attribution == nullptr) return;
  const auto spec = SpecOfRun(*open->run, *open->whole.attribution);
  if (!spec.ok()) {
    sweep.error = spec.error();
    return;
  }
  VaryCheck check = CheckVary(edit.vary, spec.value());
  sweep.problems = std::move(check.problems);
  sweep.points = check.points;
  sweep.error.reset();
}

void Replays::On(const intent::StartSweep&) {
  SweepState& sweep = desk_.state.sweep;
  if (sweep.points == 0) return;
  auto subject = Subject();
  if (!subject.has_value()) return;
  if (sweep.mode != SweepRunMode::kSimulate && !MayRun(*subject, intent::StartSweep{})) return;
  sweep.running = true;
  sweep.error.reset();
  sweep.table.reset();
  sweep.done = 0;
  sweep.total = 0;
  desk_.changed = true;
  desk_.workers.Start(
      JobKind::kSweep, "sweeping " + desk_.state.Active()->title,
      [this, subject = *subject, vary = sweep.vary, mode = sweep.mode, repeats = sweep.repeats,
       fallback = Fallback()](Ticket& job) mutable {
        subject.stop_requested = [&job] { return job.cancelled(); };
        subject.tell = [this, &job](const ReplayTold& told) {
          job.Tell(Said(told), Part(told));
          job.HandOver([this, told] {
            SweepState& now = desk_.state.sweep;
            now.doing = told.doing;
            now.done = told.done;
            now.total = told.total;
            if (told.table != nullptr) now.table = told.table;
            desk_.changed = true;
          });
        };
        auto end =
            std::make_shared<Result<ReplayEnd>>(ReplayGrid(subject, vary, mode, repeats, fallback));
        job.HandOver([this, end] {
          SweepState& now = desk_.state.sweep;
          now.running = false;
          if (end->ok()) {
            now.table = end->value().table;
            now.path = end->value().path;
          } else {
            now.error = end->error();
          }
          desk_.changed = true;
        });
      },
      [this](const Error& error) {
        desk_.state.sweep.running = false;
        desk_.state.sweep.error = error;
        desk_.changed = true;
      });
}

void Replays::On(const intent::OpenSweep& open) {
  if (open.path.empty()) return desk_.AskWhatToOpen(OpenWhat::kSweep);
  desk_.workers.Start(
      JobKind::kOpen, "reading " + open.path, [this, path = open.path](Ticket& job) {
        auto table = std::make_shared<Result<std::shared_ptr<const report::SweepTable>>>(
            ReadSweepTable(path));
        job.HandOver([this, table, path] {
          SweepState& sweep = desk_.state.sweep;
          if (sweep.running) return;
          if (table->ok()) {
            if (!sweep.path.empty() && !IsSameFile(path, sweep.path)) ForgetInput(sweep.path);
            sweep.table = table->value();
            sweep.path = path;
            sweep.error.reset();
          } else {
            sweep.error = table->error();
            desk_.Complain(table->error());
          }
          desk_.changed = true;
        });
      });
}

void Replays::On(const intent::Verify& verify) {
  auto subject = Subject();
  if (!subject.has_value()) return;
  // Numbers of findings are those of the whole run's report.
  const auto& findings = subject->report->findings;
  if (verify.finding.has_value() && *verify.finding >= findings.size()) return;
  if (!MayRun(*subject, verify)) return;
  VerifyState& state = desk_.state.verify;
  state = VerifyState{};
  state.running = true;
  state.finding = verify.finding;
  desk_.changed = true;
  const std::string title =
      verify.finding.has_value() ? findings[*verify.finding].id : "all recommendations";
  desk_.workers.Start(
      JobKind::kVerify, "verifying " + title,
      [this, subject = *subject, finding = verify.finding, run = desk_.state.active,
       fallback = Fallback()](Ticket& job) mutable {
        subject.stop_requested = [&job] { return job.cancelled(); };
        subject.tell = [this, &job](const ReplayTold& told) {
          job.Tell(Said(told), Part(told));
          job.HandOver([this, told] {
            VerifyState& now = desk_.state.verify;
            now.doing = told.doing;
            now.done = told.done;
            now.total = told.total;
            desk_.changed = true;
          });
        };
        auto end = std::make_shared<Result<ReplayEnd>>(VerifyFindings(subject, finding, fallback));
        job.HandOver([this, end, run] {
          VerifyState& now = desk_.state.verify;
          now.running = false;
          desk_.changed = true;
          if (!end->ok()) {
            now.error = end->error();
            desk_.Complain(end->error());
            return;
          }
          if (end->value().report != nullptr) runs_.SetReport(run, end->value().report);
          if (!end->value().stopped) {
            desk_.Notify(NoticeLevel::kInfo, "measured; " + end->value().path + " keeps it");
          }
        });
      },
      [this](const Error& error) {
        desk_.state.verify.running = false;
        desk_.state.verify.error = error;
        desk_.changed = true;
      });
}

}  // namespace stallscope::session
