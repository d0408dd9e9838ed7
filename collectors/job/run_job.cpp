#include "collectors/job/run_job.h"

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "analyzer/base/clock.h"
#include "analyzer/base/units.h"
#include "collectors/job/adopter.h"
#include "collectors/job/job_names.h"
#include "collectors/job/job_sampler.h"
#include "collectors/job/launch.h"
#include "collectors/job/mask.h"
#include "collectors/system/host.h"
#include "collectors/system/origin.h"
#include "collectors/system/pacer.h"
#include "collectors/system/sampler.h"

namespace stallscope::job {
namespace {

// How long rings of processes that the first one leaves behind are still drained.
constexpr int64_t kGraceNs = 200 * kNsPerMs;
constexpr int64_t kProgressNs = 200 * kNsPerMs;
// The job needs every core: with these looks alone, a thread may write 160,000 events/s.
constexpr int64_t kCalmLookNs = 50 * kNsPerMs;

// The git checkout that contains the folder; empty if none does. In a linked work tree, `.git` is a
// file.
std::string CheckoutOf(const std::filesystem::path& folder) {
  for (std::filesystem::path at = folder; !at.empty(); at = at.parent_path()) {
    std::error_code unknown;
    if (std::filesystem::exists(at / ".git", unknown)) return at.string();
    if (at == at.root_path()) break;
  }
  return "";
}

trace::RunInfo RunInfoOf(const JobOptions& options) {
  trace::RunInfo run;
  run.job.command = Masked(options.command);
  run.name = std::filesystem::path(options.command.front()).filename().string();
  for (const std::string& argument : options.command) {
    if (argument.ends_with(".py")) {
      run.name = std::filesystem::path(argument).filename().string();
      break;
    }
  }
  run.tool = options.tool;
  run.command_line = Masked(options.command_line);
  run.host = system::ReadHost();
  std::error_code unknown;
  run.folder = std::filesystem::current_path(unknown).string();
  run.job.checkout = CheckoutOf(run.folder);
  run.origin = system::OriginOf(run);
  return run;
}

// What goes on beside the job, every 40 ms.
class Watch {
 public:
  Watch(recorder::Recorder& recorder, const Session& session, bool digest)
      : recorder_(recorder),
        digest_(digest),
        names_(recorder.names(), session.fd()),
        sampler_(recorder, names_),
        adopter_(recorder, names_, sampler_, session.fd()) {}

  Status Start(pid_t job) {
    sampler_.Begin(job);
    Beat(false);
    return pacer_.Start(
        "sst-job", JobSampler::kBeatNs,
        [this](int64_t now_ns) {
          Beat(false);
          return now_ns + sampler_.beat_ns();
        },
        [] {}, [this](const Error& error) { recorder_.Fail(error); });
  }

  std::vector<JobProfile> profiles() const { return names_.profiles(); }

  // The job has ended: what its processes still do is seen for a moment, then no more.
  void Finish() {
    pacer_.Stop();
    Beat(true);
    for (const int64_t end_ns = MonotonicNs() + kGraceNs;
         sampler_.AnyAlive() && MonotonicNs() < end_ns;) {
      usleep(JobSampler::kBeatNs / kNsPerUs);
      Beat(true);
    }
    for (const auto& process : names_.processes()) process->CatchUp();
    adopter_.ReleaseAll();
    for (const trace::Probe& window : names_.probes()) recorder_.Probe(window);
    // Asked for beforehand: the run is updated under the table's lock, and whoever reads names
    // takes that one while it holds its own.
    const uint64_t bad_lines = names_.bad_lines();
    const std::vector<LoaderDigest> digests = names_.digests();
    recorder_.UpdateRun([&](trace::RunInfo& run) {
      if (digest_) SetDigest(digests, run);
      SayWhatWasNotSeen(bad_lines, run);
    });
  }

 private:
  void Beat(bool last) {
    adopter_.Look();
    sampler_.Sample(last);
    for (const recorder::ProcessKey& process : sampler_.TakeEnded()) adopter_.Release(process);
  }

  void SayWhatWasNotSeen(uint64_t bad_lines, trace::RunInfo& run) const {
    const auto files = [](uint64_t count, const char* what) {
      return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
    };
    if (adopter_.strangers() != 0) {
      run.warnings.push_back(files(adopter_.strangers(), "file") +
                             " in the session's folder could not be read as a ring");
    }
    if (bad_lines != 0) {
      run.warnings.push_back(files(bad_lines, "line") + " of the job's names could not be read");
    }
    if (adopter_.rings() != 0) return;
    run.limits.push_back(
        run.job.python.empty()
            ? "stages: no Python process was seen, and no program with stallscope's recorder; a "
              "Python job shows its DataLoaders' stages, batches and steps (not with python -I, -E "
              "or -S, or before Python 3.8)"
            : "stages: no data loader was seen; only PyTorch's DataLoader, tf.data and loops with "
              "the module stallscope show stages and steps");
  }

  recorder::Recorder& recorder_;
  const bool digest_;
  JobNames names_;
  JobSampler sampler_;
  Adopter adopter_;
  system::Pacer pacer_;  // last: its thread uses the others
};

// The files that exist: nothing that a job writes is taken on trust.
std::vector<ProfileFile> ProfileFiles(const std::vector<JobProfile>& profiles,
                                      const Session& session) {
  std::vector<ProfileFile> files;
  for (const JobProfile& profile : profiles) {
    std::string path = session.path() + "/" + profile.file;
    std::error_code unknown;
    if (std::filesystem::symlink_status(path, unknown).type() !=
        std::filesystem::file_type::regular) {
      continue;
    }
    files.push_back({std::move(path), profile.pid, profile.from_ns, profile.to_ns});
  }
  return files;
}

// Its wait status.
int WaitForJob(Launcher& launcher, const recorder::Recorder& recorder, const JobOptions& options) {
  int64_t told_ns = MonotonicNs();
  for (;;) {
    if (const auto ended = launcher.Wait(kProgressNs)) return *ended;
    if (!options.on_progress || MonotonicNs() - told_ns < kProgressNs) continue;
    told_ns = MonotonicNs();
    options.on_progress(recorder.steps(), launcher.pid());
  }
}

struct SealedJob {
  JobResult result;
  std::vector<ProfileFile> profiles;
};

// Records until the trace is sealed and closed.
Result<SealedJob> Record(const JobOptions& options, const JobSettings& settings,
                         const Session& session, Launcher& launcher) {
  recorder::Options recording;
  recording.publish = false;
  recording.join_session = false;
  recording.calm_look_interval_ns = kCalmLookNs;
  recording.ops = options.ops;
  STALLSCOPE_ASSIGN_OR_RETURN(
      const auto recorder,
      recorder::Recorder::Start(options.output, RunInfoOf(options), recording));
  system::SamplerOptions machine;
  machine.own_process = false;
  STALLSCOPE_ASSIGN_OR_RETURN(const auto sampler, system::SystemSampler::Start(*recorder, machine));
  Watch watch(*recorder, session, options.settings.digest);
  STALLSCOPE_RETURN_IF_ERROR(launcher.Start(
      options.command, EnvironmentOf(environ, session.path(), session.shim(), settings)));
  // From here on the job goes on whatever happens to its trace.
  const auto note = [&](const Status& done) {
    if (!done.ok()) recorder->Fail(done.error());
  };
  note(recorder->Publish());
  note(watch.Start(launcher.pid()));
  const int status = WaitForJob(launcher, *recorder, options);

  SealedJob recorded;
  JobResult& result = recorded.result;
  result.exit_code = ExitCodeOf(status);
  result.interrupted = WIFSIGNALED(status) && WTERMSIG(status) == SIGINT && launcher.interrupted();
  watch.Finish();
  sampler->Stop();
  recorder->UpdateRun([&](trace::RunInfo& run) {
    run.job.exit_code = static_cast<uint32_t>(result.exit_code);
    result.digest = run.digest;
  });
  result.trace = recorder->Stop();
  result.steps = recorder->steps();
  recorded.profiles = ProfileFiles(watch.profiles(), session);
  return recorded;
}

}  // namespace

Result<JobResult> RunJob(const JobOptions& options) {
  STALLSCOPE_ASSIGN_OR_RETURN(const JobSettings settings, ReadSettings(options.settings));
  Launcher launcher(options.bound);
  SessionOptions session_options = options.session;
  session_options.settings_json = settings.json;
  STALLSCOPE_ASSIGN_OR_RETURN(const Session session, Session::Make(session_options));
  STALLSCOPE_ASSIGN_OR_RETURN(SealedJob recorded, Record(options, settings, session, launcher));
  if (options.on_profiles && !recorded.profiles.empty()) options.on_profiles(recorded.profiles);
  return std::move(recorded.result);
}

}  // namespace stallscope::job
