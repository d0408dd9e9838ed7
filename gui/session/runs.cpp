#include "gui/session/runs.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "analyzer/base/clock.h"
#include "analyzer/base/file.h"
#include "gui/session/analysis.h"
#include "gui/session/open_files.h"

namespace stallscope::session {
namespace {

constexpr double kReadingsPart = 0.4;  // of opening a run
constexpr double kTellEvery = 0.02;

// After a reading of a growing file that took so long the next one is waited with: a recording has
// the cores for most of the time, however large it has become.
constexpr int64_t kRestsPerReading = 4;

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

RunNumber Runs::Reopen(const std::string& path) {
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
    // Nothing in the window could end the wait for a writer.
    job.HandOver([this, run, path] {
      Failed(run, {ErrorKind::kInput, "cannot follow a pipe", path, "copy it to a file first"});
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
  workbench::ReadWatch watch;
  watch.on_progress = [&](std::optional<double> part) {
    if (part.has_value() && *part - told >= kTellEvery) {
      told = *part;
      job.Tell("", told * kReadingsPart);
    }
    return !job.cancelled();
  };
  auto read = workbench::Read(paths, watch);
  if (!read.ok()) {
    if (!job.cancelled()) {
      job.HandOver([this, run, error = read.error()] { Failed(run, error); });
    }
    return nullptr;
  }
  const auto whole = std::move(read).value();
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
      open.stage = OpenStage::kAnalyzing;
    });
  });
  if (GaveUp(job, run)) return;
  job.Tell("finding the bottleneck", 0.6);
  const workbench::Control control{threads, Cancel(job.cancel_flag())};
  const auto examined = workbench::Examine(whole, control);
  if (GaveUp(job, run)) return;
  const Analysis analysis = AnalysisOf(examined->opened);
  const auto devices = DevicesOf(analysis);
  job.HandOver([this, run, analysis, ground = examined->groundwork, devices] {
    desk_.Change(run, [&](OpenRun& open) {
      open.whole = analysis;
      open.groundwork = ground;
      open.devices = devices;
      open.stage = OpenStage::kPricing;
    });
  });
  if (GaveUp(job, run)) return;
  job.Tell("explaining each stall", 0.8);
  auto details = attribution::StallDetails(*examined->groundwork, threads, control.cancel);
  if (GaveUp(job, run)) return;
  const auto stalls =
      std::make_shared<const std::vector<attribution::StallDetail>>(*std::move(details));
  job.HandOver(
      [this, run, stalls] { desk_.Change(run, [&](OpenRun& open) { open.stalls = stalls; }); });
  if (GaveUp(job, run)) return;
  job.Tell("predicting gains", 0.9);
  const auto report = PricedReport(examined->opened);
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
  // The visible range changes constantly, and is quickly found again.
  if (when == When::kEarly) notes.visible = source->second.notes.visible;
  if (!side->Offer(notes, when != When::kEarly)) return;
  if (when == When::kEnd) {
    // A folder that cannot be written to is no reason to keep the program from ending.
    static_cast<void>(side->Keep());
    return;
  }
  desk_.workers.Start(
      JobKind::kExport, "saving the view of " + open->title,
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
                                       "; they were merged with the ones here");
}

void Runs::KeepNotes(bool at_end) {
  for (const auto& [run, source] : sources_) {
    SaveNotes(run, at_end ? When::kEnd : When::kEarly);
  }
}

// --- Files that are still written ---

std::vector<QueueGauge> GaugesOf(const model::Run& run) {
  std::vector<QueueGauge> gauges;
  std::vector<size_t> gauge_of(run.queues.size());
  for (const model::Queue& queue : run.queues) {
    gauge_of[queue.info.id.value] = gauges.size();
    if (!queue.info.lock) gauges.push_back({queue.info.name, 0, queue.info.capacity});
  }
  std::vector<int64_t> last(run.queues.size(), trace::kMinTimeNs);
  for (const trace::QueueEvent& event : run.rows.queue_events) {
    if (!event.queue.known() || run.queues[event.queue.value].info.lock) continue;
    if (event.time_ns < last[event.queue.value]) continue;
    last[event.queue.value] = event.time_ns;
    gauges[gauge_of[event.queue.value]].depth = event.depth;
  }
  return gauges;
}

// All that is known of a growing file after one reading.
struct Runs::Grown {
  std::shared_ptr<const model::Run> whole;
  std::shared_ptr<const timeline::RunIndex> index;
  std::shared_ptr<const SpanTable> spans;
  Analysis analysis;
  attribution::GroundworkPtr groundwork;
  std::shared_ptr<const std::vector<timeline::LaneIndex>> devices;
  std::shared_ptr<const std::vector<attribution::StallDetail>> stalls;
  std::vector<QueueGauge> gauges;
  uint64_t bytes = 0;
  bool ended = false;   // there is nothing more to come
  bool sealed = false;  // by its recorder
  int64_t took_ns = 0;
};

// A file that grew: what is new of it is read. What is shown stays until everything is there; a
// growing run is not priced.
void Runs::ReadAgain(RunNumber run, bool last) {
  const auto source = sources_.find(run);
  if (source == sources_.end()) return;
  const std::string path = source->second.paths.front();
  if (source->second.growing == nullptr) {
    source->second.growing = std::make_shared<model::GrowingTrace>(path);
  }
  const std::shared_ptr<model::GrowingTrace> growing = source->second.growing;
  const unsigned threads = desk_.options.threads;
  desk_.workers.Start(
      JobKind::kFollow, "following " + TitleOf(path),
      [=, this](Ticket& job) {
        const int64_t began = MonotonicNs();
        const auto grown = std::make_shared<Grown>();
        grown->bytes = SizeOf(path);
        auto read = growing->Read();
        if (!read.ok()) {
          job.HandOver([this, run, error = read.error()] { LoseSight(run, error); });
          return;
        }
        grown->whole = std::make_shared<const model::Run>(std::move(read).value());
        const model::Run& whole = *grown->whole;
        grown->index = IndexOf(grown->whole, threads);
        grown->spans = std::make_shared<const SpanTable>(grown->whole);
        if (job.cancelled()) {
          job.HandOver(
              [this, run] { desk_.Change(run, [](OpenRun& open) { open.following = false; }); });
          return;
        }
        job.OnlyComputes();
        grown->sealed = !MayGrow(whole);
        grown->ended = last || grown->sealed;
        // Never cancelled from here on: a reading is shown whole or not at all.
        const auto examined = *workbench::Examine(grown->whole, {threads, {}});
        grown->groundwork = examined.groundwork;
        grown->analysis = AnalysisOf(examined.opened);
        grown->devices = DevicesOf(grown->analysis);
        grown->stalls = std::make_shared<const std::vector<attribution::StallDetail>>(
            *attribution::StallDetails(*grown->groundwork, threads));
        if (grown->ended) grown->analysis.report = PricedReport(examined.opened);
        grown->gauges = GaugesOf(whole);
        grown->took_ns = MonotonicNs() - began;
        job.HandOver([this, run, grown] { ShowGrown(run, *grown); });
      },
      [this, run](const Error& error) { LoseSight(run, error); });
}

// It is not looked at again by itself, so nothing may say that it is.
void Runs::LoseSight(RunNumber run, const Error& error) {
  desk_.Change(run, [&](OpenRun& open) {
    open.lost = error.Line();
    open.following = false;
  });
}

void Runs::ShowGrown(RunNumber run, const Grown& grown) {
  const bool shows_all = navigation_.ShowsAll(run);
  desk_.Change(run, [&](OpenRun& open) {
    open.run = grown.whole;
    open.index = grown.index;
    open.spans = grown.spans;
    open.whole = grown.analysis;
    open.groundwork = grown.groundwork;
    open.devices = grown.devices;
    open.stalls = grown.stalls;
    open.stage = OpenStage::kReady;
    open.following = !grown.ended;
    if (!grown.ended || grown.sealed) open.lost.clear();
    open.bytes = grown.bytes;
    ++open.revision;
  });
  if (shows_all) navigation_.ShowAll();
  if (desk_.state.record.recorded == run) desk_.state.record.queues = grown.gauges;
  const auto source = sources_.find(run);
  if (source == sources_.end()) return;  // closed meanwhile
  if (grown.sealed) {
    source->second.growing.reset();
    follower_.Forget(run);
    return;
  }
  const std::string& path = source->second.paths.front();
  follower_.Watch(run, path, grown.bytes, grown.took_ns * kRestsPerReading, !grown.ended);
}

// Only once everything about the first reading is there: two readings never mix. Also what nobody
// seems to write: where there are no locks, that it grows is how it is known.
void Runs::StartFollowing(RunNumber run) {
  const OpenRun* const open = desk_.state.Run(run);
  if (open == nullptr || open->paths.size() != 1 || !MayGrow(*open->run)) return;
  follower_.Watch(run, open->path, open->bytes, 0, open->following);
}

void Runs::OnFileEvent(RunNumber run, Follower::Event event, uint64_t bytes) {
  const OpenRun* const open = desk_.state.Run(run);
  if (open == nullptr) return;
  if (event == Follower::Event::kGrew) return ReadAgain(run, /*last=*/false);
  if (event == Follower::Event::kAbandoned) {
    // At once; its final figures follow.
    const std::string what =
        open->path + ": the recorder exited without sealing the trace (killed?)";
    desk_.Change(run, [&](OpenRun& changed) {
      changed.following = false;
      changed.lost = what;
    });
    desk_.Notify(NoticeLevel::kWarning, what);
    return ReadAgain(run, /*last=*/true);
  }
  const std::string what = event == Follower::Event::kVanished
                               ? open->path + " is gone; showing what was read of it"
                               : open->path + " shrank from " + std::to_string(open->bytes) +
                                     " to " + std::to_string(bytes) +
                                     " bytes; showing what was read before";
  desk_.Change(run, [&](OpenRun& changed) {
    changed.lost = what;
    changed.following = false;
  });
  desk_.Notify(NoticeLevel::kWarning, what);
}

}  // namespace stallscope::session
