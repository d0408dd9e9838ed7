#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/base/escape.h"
#include "analyzer/cli/interrupt.h"
#include "analyzer/cli/program.h"
#include "analyzer/cli/progress.h"
#include "analyzer/report/text.h"
#include "analyzer/spec/knobs.h"
#include "analyzer/spec/spec_json.h"
#include "analyzer/words/words.h"
#include "collectors/capture/capture.h"

namespace stallscope::cli {
namespace {

struct RecordArguments {
  std::string spec;
  std::string output;
  std::vector<std::string> settings;
  std::string device;
  std::optional<int64_t> steps;
  std::string stores;
  bool digest = false;
  bool probe = false;
  bool quiet = false;
};

// --device and --steps are shorthands for settings, and are applied last.
Result<Spec> SpecOf(const RecordArguments& arguments) {
  STALLSCOPE_ASSIGN_OR_RETURN(Spec spec, ReadSpecFile(arguments.spec));
  std::vector<std::string> settings = arguments.settings;
  if (!arguments.device.empty()) settings.push_back("trainer.device=" + arguments.device);
  if (arguments.steps.has_value()) {
    settings.push_back("trainer.steps=" + std::to_string(*arguments.steps));
  }
  return ApplySettings(std::move(spec), settings);
}

std::string Learned(const trainer::Progress& progress) {
  std::string text;
  if (progress.loss.has_value()) text += fmt::format(", loss {:.4f}", *progress.loss);
  if (progress.accuracy.has_value()) {
    text += fmt::format(", accuracy {:.1f}%", 100 * *progress.accuracy);
  }
  return text;
}

std::string Speed(const trainer::Progress& progress) {
  return fmt::format("{:.0f} samples/s, {:.1f}% of the time waiting for input",
                     progress.samples_per_s, 100 * progress.input_stall);
}

void PrintSummary(const RecordArguments& arguments, const capture::CaptureResult& result) {
  const trainer::TrainResult& training = result.training;
  const auto line = [](const char* name, const std::string& text) {
    std::printf("%-10s %s\n", name, Printable(text).c_str());
  };
  const std::string updates =
      training.updates == training.last.steps ? "" : fmt::format("{} updates, ", training.updates);
  line("steps",
       fmt::format("{}, {}{} samples{}", training.last.steps, updates, training.last.samples,
                   training.why.empty() ? "" : "; " + training.why));
  line("device", fmt::format("{} ({})", result.device.name, result.device.kind));
  line("speed", Speed(training.last));
  if (training.last.loss.has_value()) line("learned", Learned(training.last).substr(2));
  if (training.skipped_steps > 0) {
    line("skipped",
         fmt::format("{} steps whose scaled gradients overflowed", training.skipped_steps));
  }
  if (result.pipeline.skipped > 0) {
    line("left out",
         fmt::format("{} bad element{}; the first: {}", result.pipeline.skipped,
                     result.pipeline.skipped == 1 ? "" : "s", result.pipeline.first_skipped));
  }
  if (!result.digest.empty()) line("digest", result.digest);
  for (const std::string& note : result.pipeline.notes) line("note", note);
  if (result.kept_earlier) {
    line("trace",
         "stopped before the first batch; " + arguments.output + " still has the earlier run");
    return;
  }
  line("trace", fmt::format("{}, {} events, {} dropped, {}", arguments.output, result.trace.stored,
                            result.trace.dropped, words::Bytes(result.trace.bytes)));
}

int RunRecord(const RecordArguments& arguments) {
  auto spec = SpecOf(arguments);
  if (!spec.ok()) return Fail(spec.error());
  const InterruptGuard guard;
  capture::CaptureOptions options;
  options.output = arguments.output;
  options.digest = arguments.digest;
  options.probe = arguments.probe;
  options.stores = arguments.stores;
  options.tool = std::string("stallscope ") + STALLSCOPE_VERSION;
  options.command_line = ProgramArguments();
  options.stop_requested = Interruption();
  auto result = [&] {
    std::optional<ProgressBar> progress;
    if (!arguments.quiet) {
      progress.emplace("steps", spec.value().trainer.steps);
      options.on_progress = [&](const trainer::Progress& at) {
        progress->Show(static_cast<int64_t>(at.steps), [&] { return Speed(at) + Learned(at); });
      };
    }
    return capture::Capture(spec.value(), options);
  }();
  if (!result.ok()) return Fail(result.error());
  if (!arguments.quiet) PrintSummary(arguments, result.value());
  return 0;
}

}  // namespace

void AddRecord(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<RecordArguments>();
  CLI::App* command =
      app.add_subcommand("record", "Run a spec's pipeline and trainer, and record the run");
  command->add_option("SPEC.json", arguments->spec, "Spec to run")->required();
  command->add_option("-o,--output", arguments->output, "Trace to write")
      ->type_name("FILE")
      ->required();
  command->add_option("--set", arguments->settings, "Change a setting: PATH=VALUE (repeatable)")
      ->allow_extra_args(false);
  command->add_option("--device", arguments->device, "Training device")
      ->check(CLI::IsMember({"host", "emulated", "cuda"}));
  command
      ->add_option("--steps", arguments->steps, "Maximum number of steps; 0: until the data ends")
      ->check(StepCounts());
  command->add_flag("--digest", arguments->digest,
                    "Hash every batch, to compare the data of two runs");
  command->add_flag(
      "--probe", arguments->probe,
      "Slow one stage at a time in the second half of the run, to check what bounds it");
  // For replays, which must not write where the spec says.
  command->add_option("--stores", arguments->stores, "Folder for caches and snapshots")->group("");
  command->add_flag("--quiet", arguments->quiet, "Print errors only");
  command->callback([arguments, &exit_code] { exit_code = RunRecord(*arguments); });
}

}  // namespace stallscope::cli
