// `stallscope doctor`: what can be recorded on this machine, what limits it, and how to fix it.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/base/escape.h"
#include "analyzer/base/program.h"
#include "analyzer/cli/program.h"
#include "analyzer/report/text.h"
#include "analyzer/words/words.h"
#include "collectors/device/cuda_module.h"
#include "collectors/device/host_blas.h"
#include "collectors/job/job_python.h"
#include "collectors/system/doctor.h"
#include "collectors/system/host.h"
#include "replay/whatif/error_ledger.h"

namespace stallscope::cli {
namespace {

using system::Check;
using system::Diagnosis;

// Adds `text` to `out` in lines of at most 80 columns; all but the first are indented to where the
// text began. Details quote file and device names.
// A path alone stays whole, to be copied.
void AddWrapped(std::string& out, std::string_view text, size_t indent) {
  if (text.find(' ') == std::string_view::npos) {
    out += Printable(text) + "\n";
    return;
  }
  const std::vector<std::string> lines = words::Wrapped(text, report::kTextWidth - indent);
  for (size_t i = 0; i < lines.size(); ++i) {
    out.append(i == 0 ? 0 : indent, ' ').append(lines[i]).append("\n");
  }
}

std::string DiagnosisText(const Diagnosis& diagnosis) {
  size_t widest = 0;
  for (const Check& check : diagnosis.checks) widest = std::max(widest, check.name.size());
  constexpr size_t kStateWidth = 7;
  const size_t indent = widest + 2 + kStateWidth + 2;
  std::string out;
  for (const Check& check : diagnosis.checks) {
    out += fmt::format("{:<{}}  {:<{}}  ", check.name, widest, system::CheckStateName(check.state),
                       kStateWidth);
    AddWrapped(out, check.detail, indent);
    if (check.advice.empty()) continue;
    out.append(indent, ' ');
    AddWrapped(out, "-> " + check.advice, indent);
  }
  return out;
}

// How far predictions were off on this machine.
struct Predictions {
  replay::LedgerSummary pipelines;
  replay::LedgerSummary jobs;
  std::string path;
};

Predictions ReadPredictions() {
  const std::string host = system::ReadHost().name;
  const replay::ErrorLedger ledger = replay::ErrorLedger::Load();
  return {ledger.SummaryOf(host, replay::kOwnPipeline), ledger.SummaryOf(host, replay::kJob),
          replay::ErrorLedger::Path()};
}

std::string PredictionsPhrase(const char* of, const replay::LedgerSummary& summary) {
  if (summary.entries == 0) return "";
  return fmt::format(
      "{} of {} verified on this machine, median error {}; intervals are {} as wide "
      "as the model's own; ",
      words::Counted(summary.entries, "prediction"), of, words::Percent(summary.median_error),
      words::Factor(summary.widening));
}

nlohmann::ordered_json SummaryJson(const replay::LedgerSummary& summary) {
  return {{"verified", summary.entries},
          {"median_error", summary.median_error},
          {"widening", summary.widening}};
}

Check PredictionsPart(const Predictions& predictions) {
  const std::string verified = PredictionsPhrase("pipelines", predictions.pipelines) +
                               PredictionsPhrase("jobs", predictions.jobs);
  if (verified.empty()) {
    return {"predictions", system::CheckState::kOk, "none verified on this machine yet",
            "stallscope replay TRACE --verify runs what is predicted; later intervals follow the "
            "errors"};
  }
  return {"predictions", system::CheckState::kOk,
          verified + predictions.path + " is safe to delete", ""};
}

std::string DiagnosisJson(const Diagnosis& diagnosis, const Predictions& predictions) {
  nlohmann::ordered_json report{{"schema", "stallscope.doctor/1"}};
  auto& checks = report["checks"] = nlohmann::ordered_json::array();
  for (const Check& check : diagnosis.checks) {
    checks.push_back({{"name", check.name},
                      {"state", system::CheckStateName(check.state)},
                      {"detail", check.detail},
                      {"advice", check.advice}});
  }
  auto& counters = report["counters"] = nlohmann::ordered_json::array();
  for (const system::CounterState& counter : diagnosis.counters) {
    const bool cumulative = counter.row.kind == system::CounterKind::kCumulative;
    counters.push_back({{"name", counter.row.name},
                        {"unit", counter.row.unit},
                        {"kind", cumulative ? "cumulative" : "gauge"},
                        {"about", counter.row.about},
                        {"present", counter.present},
                        {"reason", counter.reason}});
  }
  report["predictions"] = {{"pipelines", SummaryJson(predictions.pipelines)},
                           {"jobs", SummaryJson(predictions.jobs)},
                           {"path", predictions.path}};
  return JsonText(report) + "\n";
}

// The parts of CUDA that the module finds, after the check for the module itself.
void AddCudaParts(Diagnosis& diagnosis) {
  auto at = std::find_if(diagnosis.checks.begin(), diagnosis.checks.end(),
                         [](const Check& check) { return check.name == "cuda module"; });
  if (at == diagnosis.checks.end() || at->state != system::CheckState::kOk) return;
  const auto module = device::LoadCudaModule(device::CudaModulePlaces());
  if (!module.ok()) {
    *at = {at->name, system::CheckState::kMissing, module.error().what, module.error().hint};
    return;
  }
  for (const device::CudaPart& part : module.value()->look()) {
    const auto state = part.there ? system::CheckState::kOk : system::CheckState::kMissing;
    at = diagnosis.checks.insert(std::next(at), Check{part.name, state, part.detail, part.advice});
  }
}

// What runs on the `host` device compute with.
Check HostPart() {
  const auto blas = device::HostBlas::Load();
  if (!blas.ok()) {
    return {"host device", system::CheckState::kMissing, blas.error().what, blas.error().hint};
  }
  return {"host device", system::CheckState::kOk, blas.value()->version(), ""};
}

// What `stallscope run -- python train.py` would start.
Check PythonPart() {
  const char* const active = std::getenv("VIRTUAL_ENV");
  return job::CheckPython({SearchPath(), active == nullptr ? "" : active});
}

}  // namespace

void AddDoctor(CLI::App& app, int& exit_code) {
  CLI::App* const command =
      app.add_subcommand("doctor", "Show what can be recorded here, and what limits it");
  const auto format = std::make_shared<std::string>("text");
  command->add_option("--format", *format, "Output format")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->callback([&app, &exit_code, format] {
    system::DoctorOptions options;
    options.cuda_module = device::FindCudaModule(device::CudaModulePlaces());
    Diagnosis diagnosis = system::Diagnose(options);
    AddCudaParts(diagnosis);
    diagnosis.checks.push_back(HostPart());
    const Predictions predictions = ReadPredictions();
    diagnosis.checks.push_back(PredictionsPart(predictions));
    diagnosis.checks.insert(diagnosis.checks.begin(), PythonPart());
    if (const std::string version = app.version(); !version.empty()) {
      diagnosis.checks.insert(diagnosis.checks.begin(),
                              Check{"program", system::CheckState::kOk, version, ""});
    }
    const std::string result =
        *format == "json" ? DiagnosisJson(diagnosis, predictions) : DiagnosisText(diagnosis);
    std::fwrite(result.data(), 1, result.size(), stdout);
    exit_code = 0;
  });
}

}  // namespace stallscope::cli
