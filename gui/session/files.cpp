#include "gui/session/files.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "analyzer/base/file.h"
#include "analyzer/export/record_writer.h"
#include "analyzer/export/text_sink.h"
#include "analyzer/report/html/forms.h"
#include "analyzer/spec/patch.h"
#include "analyzer/spec/spec_json.h"
#include "gui/session/open_files.h"

namespace stallscope::session {
namespace {

constexpr int kTourSteps = 3;

// RUN.html beside RUN.sst.
std::string Beside(const std::string& trace, const std::string& ending) {
  std::filesystem::path path(trace);
  return path.replace_extension(ending).string();
}

Status WriteSpans(const SpanTable& table, const SpanList& list, const std::string& path,
                  const Ticket& job) {
  STALLSCOPE_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path));
  const exporting::Sink into = [&](std::string_view text) { return file.Append(text); };
  exporting::TextSink sink(into);
  exporting::CsvWriter csv(sink);
  csv.Begin({"start_ns", "duration_ns", "track", "kind", "name", "cause", "item", "bytes"});
  for (const SpanRowNumber number : list.rows) {
    if (job.cancelled()) return {};
    const SpanRow row = table.At(number);
    csv.Int(row.start_ns);
    csv.Int(row.duration_ns);
    csv.Text(row.track);
    csv.Text(row.kind);
    csv.Text(row.name);
    csv.Text(row.cause);
    csv.Id(row.item);
    csv.Uint(row.bytes);
    STALLSCOPE_RETURN_IF_ERROR(csv.EndRecord());
  }
  STALLSCOPE_RETURN_IF_ERROR(sink.Flush());
  return file.Commit();
}

}  // namespace

Files::Files(Desk& desk)
    : desk_(desk),
      settings_(
          desk.options.settings_path.empty()
              ? nullptr
              : std::make_shared<SettingsFile>(desk.options.settings_path, desk.state.settings)) {}

bool Files::MayWriteTo(const std::string& path) {
  const Status may = MayWrite(desk_.state, desk_.options.settings_path, path);
  if (!may.ok()) desk_.Complain(may.error());
  return may.ok();
}

const OpenRun* Files::Analyzed() {
  const OpenRun* const open = desk_.state.Active();
  if (open != nullptr && open->whole.report != nullptr) return open;
  desk_.Notify(NoticeLevel::kWarning, "nothing to write until the run has been analyzed");
  return nullptr;
}

void Files::Report(Ticket& job, const Status& done, const std::string& path) {
  if (job.cancelled()) return;
  if (done.ok()) {
    job.HandOver([this, path] { desk_.Notify(NoticeLevel::kInfo, "wrote " + path); });
  } else {
    job.HandOver([this, error = done.error()] { desk_.Complain(error); });
  }
}

void Files::On(const intent::ExportHtml& html) {
  const OpenRun* const open = Analyzed();
  if (open == nullptr) return;
  if (html.path.empty()) return desk_.AskWhereToSave(SaveWhat::kHtml, Beside(open->path, ".html"));
  if (!MayWriteTo(html.path)) return;
  desk_.workers.Start(
      JobKind::kExport, "writing " + html.path,
      [this, path = html.path, run = open->run, whole = open->whole](Ticket& job) {
        report::Report report = *whole.report;
        report.pictures = report::PicturesOf(*run, *whole.attribution);
        Report(job, WriteFileAtomically(path, report::Write(report, report::Form::kHtml)), path);
      });
}

void Files::On(const intent::ExportPicture& picture) {
  const OpenRun* const open = desk_.state.Active();
  if (picture.path.empty()) {
    const std::string name = std::string(WordFor(picture.panel)) + ".png";
    const std::string path = open == nullptr ? name : Beside(open->path, "." + name);
    desk_.AskWhereToSave(SaveWhat::kPicture, path);
    desk_.state.request.panel = picture.panel;
    return;
  }
  if (!MayWriteTo(picture.path)) return;
  Request& request = desk_.Ask(Request::Kind::kExportPicture);
  request.panel = picture.panel;
  request.path = picture.path;
}

void Files::On(const intent::ExportSpans& spans) {
  const OpenRun* const open = desk_.state.Active();
  const auto list = desk_.state.spans.list;
  if (open == nullptr || open->spans == nullptr || list == nullptr) return;
  if (spans.path.empty()) {
    return desk_.AskWhereToSave(SaveWhat::kTable, Beside(open->path, ".csv"));
  }
  if (!MayWriteTo(spans.path)) return;
  desk_.workers.Start(JobKind::kExport, "writing " + spans.path,
                      [this, path = spans.path, table = open->spans, list](Ticket& job) {
                        Report(job, WriteSpans(*table, *list, path, job), path);
                      });
}

void Files::On(const intent::SavePatchedSpec& save) {
  const OpenRun* const open = Analyzed();
  if (open == nullptr) return;
  const auto& findings = open->whole.report->findings;
  if (save.finding >= findings.size() || !findings[save.finding].recommendation) return;
  if (save.path.empty()) {
    desk_.state.save_finding = save.finding;
    return desk_.AskWhereToSave(SaveWhat::kPatchedSpec, Beside(open->path, ".patched.json"));
  }
  if (!MayWriteTo(save.path)) return;
  const auto spec = ReadSpec(open->run->info.spec_json, open->path);
  if (!spec.ok()) return desk_.Complain(spec.error());
  const auto patched = Apply(spec.value(), findings[save.finding].recommendation->patch);
  if (!patched.ok()) return desk_.Complain(patched.error());
  desk_.workers.Start(JobKind::kExport, "writing " + save.path,
                      [this, path = save.path, text = WriteSpec(patched.value())](Ticket& job) {
                        Report(job, WriteFileAtomically(path, text), path);
                      });
}

void Files::On(const intent::SetTheme& theme) {
  desk_.state.settings.theme = theme.theme;
  desk_.changed = true;
}

void Files::On(const intent::SetScale& scale) {
  desk_.state.settings.scale =
      scale.scale == 0 ? 0 : std::clamp(scale.scale, kSmallestScale, kLargestScale);
  desk_.changed = true;
}

void Files::On(const intent::TourStep& step) {
  desk_.state.tour_step = std::clamp(step.step, 0, kTourSteps);
  desk_.state.overlay = step.step < kTourSteps ? Overlay::kTour : Overlay::kNone;
  if (step.step >= kTourSteps) desk_.state.settings.tour_done = true;
  desk_.changed = true;
}

void Files::On(const intent::SetWindowSize& size) {
  if (size.width <= 0 || size.height <= 0) return;
  desk_.state.settings.window_width = size.width;
  desk_.state.settings.window_height = size.height;
  desk_.changed = true;
}

void Files::KeepSettings(bool at_end) {
  if (settings_ == nullptr || !settings_->Offer(desk_.state.settings, at_end)) return;
  if (at_end) {
    // A settings file that cannot be written is no reason to keep the program from ending.
    static_cast<void>(settings_->Keep());
    return;
  }
  desk_.workers.Start(
      JobKind::kSettings, "saving settings",
      [this, file = settings_, sent = desk_.state.settings](Ticket& job) {
        const auto kept = file->Keep();
        if (kept.ok()) {
          job.HandOver([this, sent, now = kept.value().now] {
            if (now == sent) return;
            desk_.state.settings = SettingsForm::Merge(sent, desk_.state.settings, now);
            desk_.changed = true;
          });
        } else if (file->MustComplain()) {
          job.HandOver([this, error = kept.error()] { desk_.Complain(error); });
        }
      },
      [file = settings_](const Error&) { file->GaveUp(); });
}

}  // namespace stallscope::session
