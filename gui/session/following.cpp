// The part of Runs that follows files which are still written.
#include <algorithm>
#include <utility>

#include "analyzer/base/clock.h"
#include "gui/session/analysis.h"
#include "gui/session/runs.h"

namespace stallscope::session {
namespace {

// After a reading of a growing file that took so long the next one is waited with: a recording has
// the cores for most of the time, however large it has become.
constexpr int64_t kRestsPerReading = 4;

}  // namespace

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
        grown->groundwork = attribution::LayGroundwork(whole, threads);
        grown->analysis = *Analyse(whole, *grown->groundwork, threads);
        grown->devices = DevicesOf(grown->analysis);
        grown->stalls = std::make_shared<const std::vector<attribution::StallDetail>>(
            *attribution::StallDetails(*grown->groundwork, threads));
        if (grown->ended) {
          grown->analysis.report = PricedReport(whole, *grown->analysis.attribution);
        }
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
        open->path + ": the recorder ended without sealing the trace (killed?)";
    desk_.Change(run, [&](OpenRun& changed) {
      changed.following = false;
      changed.lost = what;
    });
    desk_.Notify(NoticeLevel::kWarning, what);
    return ReadAgain(run, /*last=*/true);
  }
  const std::string what = event == Follower::Event::kVanished
                               ? open->path + " is gone: what was read of it is shown"
                               : open->path + " shrank from " + std::to_string(open->bytes) +
                                     " to " + std::to_string(bytes) +
                                     " bytes: what was read of it before is shown";
  desk_.Change(run, [&](OpenRun& changed) {
    changed.lost = what;
    changed.following = false;
  });
  desk_.Notify(NoticeLevel::kWarning, what);
}

}  // namespace stallscope::session
