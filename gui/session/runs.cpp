#include "gui/session/runs.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "analyzer/base/file.h"
#include "gui/session/analysis.h"
#include "gui/session/open_files.h"

namespace stallscope::session {
namespace {

constexpr double kReadingsPart = 0.4;  // of opening a run
constexpr double kTellEvery = 0.02;

}  // namespace

uint64_t SizeOf(const std::string& path) {
  std::error_code failed;
  const uint64_t bytes = std::filesystem::file_size(path, failed);
  return failed ? 0 : bytes;
}

bool MayGrow(const model::Run& run) { return run.format == "sst" && !run.quality.sealed; }

std::string TitleOf(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

Runs::Runs(Desk& desk, Navigation& navigation)
    : desk_(desk),
      navigation_(navigation),
      follower_(
          desk.workers,
          [this](RunNumber run, Follower::Event event, uint64_t bytes) {
            OnFileEvent(run, event, bytes);
          },
          [this](const Error& error) { desk_.Complain(error); }) {}

void Runs::On(const intent::OpenFile& open) {
  if (open.path.empty()) {
    return desk_.AskWhatToOpen(open.as_base ? OpenWhat::kBase : OpenWhat::kTrace);
  }
  const RunNumber run = Open({open.path}, !open.as_base);
  if (open.as_base) desk_.state.compare.base = run;
}

void Runs::On(const intent::OpenRanks& open) {
  if (!open.paths.empty()) Open(open.paths, true);
}

RunNumber Runs::Open(const std::vector<std::string>& paths, bool active) {
  const auto same = std::find_if(sources_.begin(), sources_.end(), [&](const auto& source) {
    return source.second.paths == paths &&
           desk_.state.Run(source.first)->stage != OpenStage::kFailed;
  });
  if (same != sources_.end()) {
    if (active) Show(same->first);
    return same->first;
  }
  auto open = std::make_shared<OpenRun>();
  open->number = ++last_number_;
  open->path = paths.front();
  open->paths = paths;
  open->title = TitleOf(paths.front());
  if (paths.size() > 1) open->title += " and " + std::to_string(paths.size() - 1) + " more";
  const RunNumber number = open->number;
  desk_.state.runs.push_back(std::move(open));
  sources_[number].paths = paths;
  // Also before anything is read: the window says what it is reading, or why it could not.
  if (active) Show(number);
  desk_.changed = true;
  Load(number);
  return number;
}

RunNumber Runs::OpenAnew(const std::string& path) {
  std::vector<RunNumber> earlier;
  for (const auto& [run, source] : sources_) {
    const auto& paths = source.paths;
    if (std::any_of(paths.begin(), paths.end(),
                    [&](const auto& one) { return one == path || IsSameFile(one, path); })) {
      earlier.push_back(run);
    }
  }
  for (const RunNumber run : earlier) On(intent::CloseRun{run});
  return Open({path}, true);
}

void Runs::Load(RunNumber run) {
  const std::vector<std::string> paths = sources_[run].paths;
  desk_.workers.Start(
      JobKind::kOpen, "reading " + TitleOf(paths.front()),
      [=, this](Ticket& job) {
        const auto whole = Read(job, run, paths);
        // It may have been closed before it was read.
        job.HandOver([this, run, paths] {
          if (!sources_.contains(run)) ForgetFiles(paths, desk_.state);
        });
        if (GaveUp(job, run) || whole == nullptr) return;
        job.OnlyComputes();
        Examine(job, run, whole);
      },
      [=, this](const Error& error) { Failed(run, error); });
}

// By a worker. Null where it could not be read, which has been said then, or is not waited for.
std::shared_ptr<const model::Run> Runs::Read(Ticket& job, RunNumber run,
                                             const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::error_code failed;
    if (!std::filesystem::is_fifo(path, failed)) continue;
    // Nothing in a window would end the wait for somebody to write it.
    job.HandOver([this, run, path] {
      Failed(run, {ErrorKind::kInput, "cannot follow a pipe", path, "copy it into a file first"});
    });
    return nullptr;
  }
  const uint64_t bytes = SizeOf(paths.front());
  // Before it is read: what comes later is seen by whoever follows it.
  const bool written = HasWriter(paths.front());
  auto notes =
      desk_.options.side_files ? ReadSideNotes(paths.front()) : Result<SideNotes>(SideNotes{});
  // A window that is told draws itself: some dozens of times are enough.
  double told = 0;
  auto read = ReadRun(paths, [&](std::optional<double> part) {
    if (part.has_value() && *part - told >= kTellEvery) {
      told = *part;
      job.Tell("", told * kReadingsPart);
    }
    return !job.cancelled();
  });
  if (!read.ok()) {
    if (!job.cancelled()) {
      job.HandOver([this, run, error = read.error()] { Failed(run, error); });
    }
    return nullptr;
  }
  const auto whole = std::make_shared<const model::Run>(std::move(read).value());
  job.HandOver([this, run, whole, bytes, notes, written] {
    const auto source = sources_.find(run);
    if (source == sources_.end()) return;
    if (!notes.ok()) {
      desk_.Notify(NoticeLevel::kWarning, notes.error().Line());
    } else {
      source->second.notes = notes.value();
      if (desk_.options.side_files) {
        source->second.side =
            std::make_shared<SideFile>(source->second.paths.front(), notes.value());
      }
    }
    Took(run, whole, bytes, written);
  });
  return whole;
}

// By a worker; each answer is shown as soon as it is there.
void Runs::Examine(Ticket& job, RunNumber run, const std::shared_ptr<const model::Run>& whole) {
  const unsigned threads = desk_.options.threads;
  job.Tell("preparing the timeline", kReadingsPart);
  const auto index = IndexOf(whole, threads);
  const auto spans = std::make_shared<const SpanTable>(whole);
  job.HandOver([this, run, index, spans] {
    desk_.Change(run, [&](OpenRun& open) {
      open.index = index;
      open.spans = spans;
      open.stage = OpenStage::kAnalysing;
    });
  });
  if (GaveUp(job, run)) return;
  job.Tell("finding what bounds it", 0.6);
  const Cancel cancel(job.cancel_flag());
  const auto ground = attribution::LayGroundwork(*whole, threads, cancel);
  if (GaveUp(job, run)) return;
  const auto analysis = Analyse(*whole, *ground, threads, cancel);
  if (GaveUp(job, run)) return;
  const auto devices = DevicesOf(*analysis);
  job.HandOver([this, run, analysis, ground, devices] {
    desk_.Change(run, [&](OpenRun& open) {
      open.whole = *analysis;
      open.groundwork = ground;
      open.devices = devices;
      open.stage = OpenStage::kPricing;
    });
  });
  if (GaveUp(job, run)) return;
  job.Tell("blame, stall by stall", 0.8);
  auto details = attribution::StallDetails(*ground, threads, cancel);
  if (GaveUp(job, run)) return;
  const auto stalls =
      std::make_shared<const std::vector<attribution::StallDetail>>(*std::move(details));
  job.HandOver(
      [this, run, stalls] { desk_.Change(run, [&](OpenRun& open) { open.stalls = stalls; }); });
  if (GaveUp(job, run)) return;
  job.Tell("what changes would gain", 0.9);
  const auto report = PricedReport(*whole, *analysis->attribution);
  job.HandOver([this, run, report] {
    desk_.Change(run, [&](OpenRun& open) {
      open.whole.report = report;
      open.stage = OpenStage::kReady;
    });
    StartFollowing(run);
  });
}

// A run whose opening is cancelled is closed.
bool Runs::GaveUp(Ticket& job, RunNumber run) {
  if (job.cancelled()) job.HandOver([this, run] { On(intent::CloseRun{run}); });
  return job.cancelled();
}

void Runs::Took(RunNumber run, std::shared_ptr<const model::Run> read, uint64_t bytes,
                bool written) {
  const auto source = sources_.find(run);
  if (source == sources_.end()) return;  // closed meanwhile
  const bool follow = MayGrow(*read) && written && source->second.paths.size() == 1;
  desk_.Change(run, [&](OpenRun& open) {
    open.run = std::move(read);
    open.stage = OpenStage::kIndexing;
    open.bytes = bytes;
    open.following = follow;
    ++open.revision;
  });
  // Looked at before it was read, it had neither bookmarks nor a place.
  navigation_.Drop(run);
  if (desk_.state.active == run) navigation_.Enter(run, source->second.notes);
  std::error_code failed;
  const auto absolute = std::filesystem::absolute(source->second.paths.front(), failed);
  Remember(desk_.state.settings, failed ? source->second.paths.front() : absolute.string());
}

void Runs::Failed(RunNumber run, const Error& error) {
  desk_.Change(run, [&](OpenRun& open) {
    open.stage = OpenStage::kFailed;
    open.error = error;
  });
  desk_.Complain(error);
}

void Runs::Show(RunNumber run) {
  if (desk_.state.active == run) return;
  navigation_.Leave();
  navigation_.Enter(run, sources_[run].notes);
}

void Runs::On(const intent::SwitchRun& change) {
  if (sources_.count(change.run) != 0) Show(change.run);
}

void Runs::On(const intent::CloseRun& close) {
  State& state = desk_.state;
  const auto open = std::find_if(state.runs.begin(), state.runs.end(),
                                 [&](const auto& run) { return run->number == close.run; });
  if (open == state.runs.end()) return;
  SaveNotes(close.run, When::kClosed);
  follower_.Forget(close.run);
  const auto at = open - state.runs.begin();
  const std::vector<std::string> paths = (*open)->paths;
  state.runs.erase(open);
  sources_.erase(close.run);
  ForgetFiles(paths, state);
  if (state.compare.base == close.run) state.compare = CompareState{};
  if (state.active == close.run) {
    state.active = kNoRun;
    state.view = View{state.view.panel, {}, {}, {}};
    state.bookmarks.clear();
    state.shown = Analysis{};
    if (!state.runs.empty()) {
      const auto next = std::min<std::ptrdiff_t>(at, std::ssize(state.runs) - 1);
      Show(state.runs[static_cast<size_t>(next)]->number);
    }
  }
  navigation_.Drop(close.run);
  desk_.changed = true;
}

void Runs::SetReport(RunNumber run, std::shared_ptr<const report::Report> report) {
  desk_.Change(run, [&](OpenRun& open) { open.whole.report = std::move(report); });
}

// Only where there is something to keep: a look at a trace leaves nothing beside it.
void Runs::SaveNotes(RunNumber run, When when) {
  const auto source = sources_.find(run);
  const OpenRun* const open = desk_.state.Run(run);
  if (source == sources_.end() || open == nullptr || open->run == nullptr) return;
  const std::shared_ptr<SideFile> side = source->second.side;
  if (side == nullptr) return;
  const auto seen = navigation_.NotesOf(run);
  if (!seen.has_value()) return;
  SideNotes notes = *seen;
  // Where somebody looks changes all the time, and is soon found again.
  if (when == When::kEarly) notes.visible = source->second.notes.visible;
  if (!side->Offer(notes, when != When::kEarly)) return;
  if (when == When::kEnd) {
    // A folder that cannot be written to is no reason to keep the program from ending.
    static_cast<void>(side->Keep());
    return;
  }
  desk_.workers.Start(
      JobKind::kExport, "keeping the view of " + open->title,
      [this, run, side, notes](Ticket& job) {
        const auto kept = side->Keep();
        if (kept.ok()) {
          job.HandOver(
              [this, run, notes, outcome = kept.value()] { NotesKept(run, notes, outcome); });
        } else if (side->MustComplain()) {
          job.HandOver([this, error = kept.error()] { desk_.Complain(error); });
        }
      },
      [side, when](const Error&) {
        side->GaveUp();
        // Nobody asks again for a run that is closed.
        if (when == When::kClosed) static_cast<void>(side->Keep());
      });
}

void Runs::NotesKept(RunNumber run, const SideNotes& sent, const SideFile::Outcome& outcome) {
  const auto source = sources_.find(run);
  if (source == sources_.end()) return;  // closed meanwhile
  source->second.notes = outcome.now;
  if (!outcome.merged) return;
  navigation_.Adopt(run, sent, outcome.now);
  if (outcome.now.bookmarks == sent.bookmarks) return;
  desk_.Notify(NoticeLevel::kInfo, "another window changed the bookmarks of " +
                                       TitleOf(source->second.paths.front()) +
                                       ": merged with the ones here");
}

void Runs::KeepNotes(bool at_end) {
  for (const auto& [run, source] : sources_) {
    SaveNotes(run, at_end ? When::kEnd : When::kEarly);
  }
}

}  // namespace stallscope::session
