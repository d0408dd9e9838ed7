#include "gui/session/recordings.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "analyzer/base/clock.h"
#include "analyzer/base/file.h"
#include "analyzer/base/units.h"
#include "analyzer/spec/knobs.h"
#include "analyzer/spec/spec_json.h"
#include "collectors/capture/capture.h"
#include "gui/session/open_files.h"

namespace stallscope::session {
namespace {

constexpr int64_t kTellEveryNs = 100 * kNsPerMs;
constexpr int64_t kRateEveryNs = 250 * kNsPerMs;
constexpr int64_t kOpenAfterNs = 500 * kNsPerMs;  // several flushes: there is something to see
constexpr size_t kMostRates = 400;
constexpr const char* kTyped = "spec";  // what errors call the text

// How often a recording is told of: a step may be a microsecond.
class Pace {
 public:
  struct Due {
    bool tell = false;
    bool rate = false;  // a point of the curve
    bool open = false;  // there is something to see; once
  };
  Due At(int64_t now_ns) {
    if (now_ns - told_ns_ < kTellEveryNs) return {};
    told_ns_ = now_ns;
    Due due{true, now_ns - rated_ns_ >= kRateEveryNs,
            !opened_ && now_ns - began_ns_ >= kOpenAfterNs};
    if (due.rate) rated_ns_ = now_ns;
    opened_ = opened_ || due.open;
    return due;
  }

 private:
  const int64_t began_ns_ = MonotonicNs();
  int64_t told_ns_ = 0;
  int64_t rated_ns_ = began_ns_;
  bool opened_ = false;
};

}  // namespace

std::string ExampleSpec() {
  return R"spec({ "name": "example", "seed": 7,
  "stages": [
    {"name": "read",
     "source": {"format": "synthetic", "elements": 100000, "bytes": 16384}},
    {"name": "decode", "map": {"ops": ["busy(400)"], "parallelism": 2}},
    {"name": "batch", "batch": {"size": 32, "drop_remainder": true}},
    {"name": "prefetch", "prefetch": {"buffer_size": 2}} ],
  "trainer": {"device": "emulated", "steps": 200,
              "emulated": {"compute_us_per_batch": 5000}} }
)spec";
}

Recordings::Recordings(Desk& desk, Runs& runs) : desk_(desk), runs_(runs) {
  On(intent::EditSpec{ExampleSpec()});
}

// As one types: a spec is read in well under a millisecond.
void Recordings::Check() {
  RecordState& record = desk_.state.record;
  const auto spec = ReadSpec(record.spec_text, kTyped);
  if (spec.ok()) {
    record.problem.reset();
    record.knobs = ListKnobs(spec.value());
  } else {
    record.problem = spec.error();
  }
  desk_.changed = true;
}

void Recordings::On(const intent::EditSpec& edit) {
  if (edit.text == desk_.state.record.spec_text) return;
  desk_.state.record.spec_text = edit.text;
  Check();
}

void Recordings::On(const intent::SetKnob& set) {
  RecordState& record = desk_.state.record;
  auto spec = ReadSpec(record.spec_text, kTyped);
  if (!spec.ok()) return;
  const Status done = stallscope::SetKnob(spec.value(), set.path, set.value);
  if (!done.ok()) return desk_.Complain(done.error());
  record.spec_text = WriteSpec(spec.value());
  Check();
}

void Recordings::On(const intent::OpenSpec& open) {
  if (open.path.empty()) return desk_.AskWhatToOpen(OpenWhat::kSpec);
  const auto text = ReadWholeFile(open.path, kMaxSpecBytes);
  if (!text.ok()) return desk_.Complain(text.error());
  // What it was edited from before is no input any more.
  if (!IsSameFile(open.path, desk_.state.record.spec_path)) {
    ForgetInput(desk_.state.record.spec_path);
  }
  desk_.state.record.spec_path = open.path;
  desk_.state.record.spec_text = text.value();
  Check();
}

void Recordings::On(const intent::SaveSpec& save) {
  RecordState& record = desk_.state.record;
  if (save.path.empty()) {
    const std::string suggestion = record.spec_path.empty() ? "spec.json" : record.spec_path;
    return desk_.AskWhereToSave(SaveWhat::kSpec, suggestion);
  }
  const bool own = IsSameFile(save.path, record.spec_path);
  const Status may = own ? Status() : MayWrite(desk_.state, desk_.options.settings_path, save.path);
  if (!may.ok()) return desk_.Complain(may.error());
  const Status done =
      WriteFileAtomically(save.path, record.spec_text, own ? Over::kOwnInput : Over::kNoInput);
  if (!done.ok()) return desk_.Complain(done.error());
  if (!own) ForgetInput(record.spec_path);
  record.spec_path = save.path;
  desk_.Notify(NoticeLevel::kInfo, "saved " + save.path);
}

// A name that is free, beside the spec or in the current folder.
std::string Recordings::OutputFor(const std::string& given) const {
  if (!given.empty()) return given;
  const RecordState& record = desk_.state.record;
  const std::filesystem::path spec(record.spec_path.empty() ? "recording.json" : record.spec_path);
  std::error_code failed;
  std::filesystem::path path;
  for (int number = 1; number == 1 || std::filesystem::exists(path, failed); ++number) {
    path = spec.parent_path() / (spec.stem().string() + "-" + std::to_string(number) + ".sst");
  }
  return path.string();
}

void Recordings::On(const intent::StartRecording& start) {
  RecordState& record = desk_.state.record;
  auto spec = ReadSpec(record.spec_text, kTyped);
  if (!spec.ok() || record.running) return;
  if (desk_.state.sweep.running || desk_.state.verify.running) {
    return desk_.Notify(NoticeLevel::kWarning, "a replay is running and would disturb a recording");
  }
  const std::string output = OutputFor(start.output);
  const Status may = MayRecord(desk_.state, desk_.options.settings_path, output);
  if (!may.ok()) return desk_.Complain(may.error());
  // An open trace that is about to be recorded over is read no more.
  const auto& runs = desk_.state.runs;
  if (std::any_of(runs.begin(), runs.end(),
                  [&](const auto& run) { return IsSameFile(output, run->path); })) {
    ForgetInput(output);
  }
  Begin(output, static_cast<uint64_t>(spec.value().trainer.steps));
  capture::CaptureOptions options;
  options.output = record.output;
  options.tool = desk_.options.tool;
  options.command_line = {desk_.options.tool};
  job_ = desk_.workers.Start(
      JobKind::kRecord, "recording " + record.output,
      [this, spec = std::move(spec).value(), options](Ticket& job) mutable {
        Pace pace;
        options.stop_requested = [&job] { return job.cancelled(); };
        options.on_progress = [&](const trainer::Progress& at) {
          const Pace::Due due = pace.At(MonotonicNs());
          if (due.tell) job.HandOver([this, at, due] { Show(at, due.rate, due.open); });
        };
        const auto done = capture::Capture(spec, options);
        std::optional<Error> error;
        if (!done.ok()) error = done.error();
        std::optional<trainer::Progress> last;
        if (done.ok()) last = done.value().training.last;
        const bool kept_earlier = done.ok() && done.value().kept_earlier;
        job.HandOver([this, error, last, kept_earlier] {
          if (last.has_value()) Show(*last, /*rate=*/false, /*open=*/false);
          End(error, kept_earlier);
        });
      },
      [this](const Error& error) { End(error, /*kept_earlier=*/false); });
}

void Recordings::Begin(std::string output, uint64_t most_steps) {
  RecordState& record = desk_.state.record;
  record.output = std::move(output);
  record.running = true;
  record.stopping = false;
  record.steps = 0;
  record.most_steps = most_steps;
  record.samples_per_s = 0;
  record.input_stall = 0;
  record.rates.clear();
  record.queues.clear();
  record.error.reset();
  record.recorded = kNoRun;
  desk_.changed = true;
}

void Recordings::Show(const trainer::Progress& at, bool rate, bool open) {
  RecordState& record = desk_.state.record;
  record.steps = at.steps;
  record.samples_per_s = at.samples_per_s;
  record.input_stall = at.input_stall;
  if (rate) record.rates.push_back(at.samples_per_s);
  if (record.rates.size() > kMostRates) record.rates.erase(record.rates.begin());
  if (open) OpenWhatIsThere();
  desk_.changed = true;
}

void Recordings::End(const std::optional<Error>& error, bool kept_earlier) {
  RecordState& record = desk_.state.record;
  record.running = false;
  record.stopping = false;
  record.error = error;
  if (error.has_value()) desk_.Complain(*error);
  if (kept_earlier) {
    desk_.Notify(NoticeLevel::kInfo,
                 "stopped before the first batch; " + record.output + " still has the earlier run");
  } else {
    OpenWhatIsThere();
  }
  desk_.changed = true;
}

void Recordings::OpenWhatIsThere() {
  RecordState& record = desk_.state.record;
  const OpenRun* const open = desk_.state.Run(record.recorded);
  if (open != nullptr && open->stage != OpenStage::kFailed) return;  // and follows what it grows
  std::error_code failed;
  // Without a step the earlier file of this name is still what was there before.
  if (record.steps == 0 && record.error.has_value()) return;
  if (!std::filesystem::exists(record.output, failed)) return;
  record.recorded = runs_.Reopen(record.output);
}

void Recordings::On(const intent::StopRecording&) {
  if (!desk_.state.record.running) return;
  desk_.state.record.stopping = true;
  desk_.workers.Cancel(job_);
  desk_.changed = true;
}

}  // namespace stallscope::session
