#include "gui/session/replays.h"

#include <algorithm>
#include <utility>

#include "analyzer/base/file.h"
#include "gui/session/analysis.h"
#include "gui/session/open_files.h"
#include "replay/workbench/replaying.h"

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

std::optional<ReplayCall> Replays::Call(bool emulate) {
  const OpenRun* const open = desk_.state.Active();
  if (open == nullptr || open->whole.report == nullptr) {
    desk_.Notify(NoticeLevel::kWarning, "cannot replay until the run has been analyzed");
    return std::nullopt;
  }
  // Runs disturb each other, and a recording most of all.
  if (desk_.state.sweep.running || desk_.state.verify.running || desk_.state.record.running) {
    desk_.Notify(NoticeLevel::kWarning,
                 "another run is in progress; two at a time would disturb each other");
    return std::nullopt;
  }
  ReplayCall call;
  call.opened = OpenedOf(*open);
  call.report = open->whole.report;
  call.folder = known_[open->number].folder;
  call.emulate = emulate;
  call.fallback = Fallback();
  call.program = desk_.options.program;
  call.threads = desk_.options.threads;
  return call;
}

std::string Replays::Fallback() {
  if (!scratch_.has_value()) {
    auto made = ScratchFolder::Make();
    if (!made.ok()) return "/tmp";
    scratch_.emplace(std::move(made).value());
  }
  return scratch_->path();
}

bool Replays::MayRun(const ReplayCall& call, const Wanted& wanted) {
  const auto question = RerunQuestionOf(call);
  if (!question.has_value() || known_[desk_.state.active].agreed == question) return true;
  Ask(*question, wanted, desk_.state.active);
  return false;
}

void Replays::Ask(Question question, const Wanted& wanted, RunNumber about) {
  waiting_ = wanted;
  asked_about_ = about;
  desk_.state.question = std::move(question);
  desk_.state.overlay = Overlay::kQuestion;
  desk_.changed = true;
}

std::optional<Replays::Wanted> Replays::TakeWanted() {
  if (!waiting_.has_value() || desk_.state.active != asked_about_) return std::nullopt;
  if (desk_.state.overlay == Overlay::kQuestion) desk_.state.overlay = Overlay::kNone;
  desk_.changed = true;
  return std::exchange(waiting_, std::nullopt);
}

void Replays::On(const intent::ConfirmRerun&) {
  if (desk_.state.question.kind != Question::Kind::kAgree) return;
  const auto wanted = TakeWanted();
  if (!wanted.has_value()) return;
  known_[desk_.state.active].agreed = desk_.state.question;
  std::visit([this](const auto& intent) { Start(intent, /*emulate=*/false); }, *wanted);
}

void Replays::On(const intent::FindData& find) {
  if (find.folder.empty()) {
    if (!waiting_.has_value()) return;
    // No desktop's dialog: it would ask for a file.
    desk_.state.open = OpenWhat::kDataFolder;
    desk_.Ask(Request::Kind::kNone).path = desk_.state.question.folder;
    desk_.state.overlay = Overlay::kOpenPath;
    return;
  }
  const auto wanted = TakeWanted();
  if (!wanted.has_value()) return;
  known_[desk_.state.active].folder = find.folder;
  std::visit([this](const auto& intent) { Start(intent, /*emulate=*/false); }, *wanted);
}

void Replays::On(const intent::EmulateRerun&) {
  const auto wanted = TakeWanted();
  if (!wanted.has_value()) return;
  std::visit([this](const auto& intent) { Start(intent, /*emulate=*/true); }, *wanted);
}

void Replays::On(const intent::CancelRerun&) {
  if (desk_.state.overlay == Overlay::kQuestion) desk_.state.overlay = Overlay::kNone;
  waiting_.reset();
  desk_.changed = true;
}

void Replays::Refresh() {
  const bool asks =
      desk_.state.overlay == Overlay::kQuestion ||
      (desk_.state.overlay == Overlay::kOpenPath && desk_.state.open == OpenWhat::kDataFolder);
  if (!asks) {
    waiting_.reset();
  } else if (waiting_.has_value() && desk_.state.active != asked_about_) {
    // An answer for one run must not start another.
    desk_.state.overlay = Overlay::kNone;
    On(intent::CancelRerun{});
  }
  std::erase_if(known_, [&](const auto& known) { return desk_.state.Run(known.first) == nullptr; });
}

void Replays::OnLostData(const ReplayCall& call, const ReplayEnd& end, const Wanted& wanted,
                         RunNumber run) {
  if (desk_.state.active == run) {
    Ask(LostDataQuestionOf(call, *end.lost_data), wanted, run);
  } else {
    desk_.Complain(*end.lost_data);
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
  const auto spec = workbench::SpecOf(OpenedOf(*open));
  if (!spec.ok()) {
    sweep.error = spec.error();
    return;
  }
  VaryCheck check = CheckVary(edit.vary, spec.value());
  sweep.problems = std::move(check.problems);
  sweep.points = check.points;
  sweep.error.reset();
}

void Replays::Start(const intent::StartSweep& start, bool emulate) {
  SweepState& sweep = desk_.state.sweep;
  if (sweep.points == 0) return;
  const auto call = Call(emulate);
  if (!call.has_value()) return;
  if (sweep.mode != SweepRunMode::kSimulate && !MayRun(*call, start)) return;
  sweep.table.reset();
  Run(JobKind::kSweep, "sweeping " + desk_.state.Active()->title, *call, start,
      [vary = sweep.vary, mode = sweep.mode, repeats = sweep.repeats](const ReplayCall& with) {
        return ReplayGrid(with, vary, mode, repeats);
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

void Replays::Start(const intent::Verify& verify, bool emulate) {
  const auto call = Call(emulate);
  if (!call.has_value()) return;
  // Numbers of findings are those of the whole run's report.
  const auto& findings = call->report->findings;
  if (verify.finding.has_value() && *verify.finding >= findings.size()) return;
  if (!MayRun(*call, verify)) return;
  desk_.state.verify.finding = verify.finding;
  const std::string title =
      verify.finding.has_value() ? findings[*verify.finding].id : "all recommendations";
  Run(JobKind::kVerify, "verifying " + title, *call, verify,
      [finding = verify.finding](const ReplayCall& with) { return VerifyFindings(with, finding); });
}

ReplayProgress& Replays::ProgressOf(JobKind kind) {
  if (kind == JobKind::kSweep) return desk_.state.sweep;
  return desk_.state.verify;
}

void Replays::Run(JobKind kind, std::string title, const ReplayCall& call, const Wanted& wanted,
                  std::function<Result<ReplayEnd>(const ReplayCall&)> work) {
  ProgressOf(kind) = ReplayProgress{true, "", 0, 0, std::nullopt};
  desk_.changed = true;
  desk_.workers.Start(
      kind, std::move(title),
      [=, this, run = desk_.state.active](Ticket& job) {
        ReplayCall with = call;
        with.cancel = Cancel(job.cancel_flag());
        with.tell = [&](const ReplayTold& told) {
          job.Tell(Said(told), Part(told));
          job.HandOver([this, kind, told] { Show(kind, told); });
        };
        auto end = std::make_shared<Result<ReplayEnd>>(work(with));
        job.HandOver([=, this] { Ended(kind, call, wanted, *end, run); });
      },
      [this, kind](const Error& error) {
        ProgressOf(kind) = ReplayProgress{false, "", 0, 0, error};
        desk_.changed = true;
      });
}

void Replays::Show(JobKind kind, const ReplayTold& told) {
  ReplayProgress& now = ProgressOf(kind);
  now.doing = told.doing;
  now.done = told.done;
  now.total = told.total;
  if (kind == JobKind::kSweep && told.table != nullptr) desk_.state.sweep.table = told.table;
  desk_.changed = true;
}

void Replays::Ended(JobKind kind, const ReplayCall& call, const Wanted& wanted,
                    const Result<ReplayEnd>& end, RunNumber run) {
  ReplayProgress& now = ProgressOf(kind);
  now.running = false;
  desk_.changed = true;
  if (!end.ok()) {
    now.error = end.error();
    if (kind == JobKind::kVerify) desk_.Complain(end.error());
  } else if (end.value().lost_data.has_value()) {
    now.error = end.value().lost_data;
    OnLostData(call, end.value(), wanted, run);
  } else if (kind == JobKind::kVerify) {
    Verified(end.value(), run);
  } else {
    desk_.state.sweep.table = end.value().table;
    desk_.state.sweep.path = end.value().path;
  }
}

void Replays::Verified(const ReplayEnd& end, RunNumber run) {
  if (end.report != nullptr) runs_.SetReport(run, end.report);
  if (end.emulated) {
    // The run's own gains stay unmeasured; the sweep's panel has those of the emulation.
    desk_.state.sweep.table = end.table;
    desk_.state.sweep.path = end.path;
  }
  if (end.stopped) return;
  desk_.Notify(NoticeLevel::kInfo,
               (end.emulated ? "emulated: see the sweep panel; " : "measured; ") + end.path +
                   " has the figures");
}

}  // namespace stallscope::session
