#include "analyzer/report/html/forms.h"

#include "analyzer/report/describe.h"
#include "analyzer/report/html/html.h"
#include "analyzer/report/json.h"
#include "analyzer/report/junit.h"
#include "analyzer/report/markdown.h"

namespace stallscope::report {

std::optional<Form> FormOf(std::string_view word) {
  for (size_t i = 0; i < kFormWords.size(); ++i) {
    if (kFormWords[i] == word) return static_cast<Form>(i);
  }
  return std::nullopt;
}

std::optional<Form> FormOfName(std::string_view path) {
  constexpr std::array<std::pair<std::string_view, Form>, 10> kEndings = {
      {{".txt", Form::kText},
       {".log", Form::kText},
       {".json", Form::kJson},
       {".md", Form::kMarkdown},
       {".markdown", Form::kMarkdown},
       {".html", Form::kHtml},
       {".htm", Form::kHtml},
       {".xml", Form::kJunit},
       {".sarif", Form::kSarif},
       {".sarif.json", Form::kSarif}}};
  std::optional<Form> form;
  for (const auto& [ending, of_ending] : kEndings) {
    if (path.ends_with(ending)) form = of_ending;  // the last one is the longest
  }
  return form;
}

namespace {

template <class What>
std::string WriteAny(const What& what, Form form, const FormOptions& options) {
  switch (form) {
    case Form::kText:
      return WriteText(DocumentOf(what), options.text);
    case Form::kJson:
      return WriteJson(what);
    case Form::kMarkdown:
      return WriteMarkdown(DocumentOf(what));
    case Form::kHtml:
      return WriteHtml(DocumentOf(what));
    case Form::kJunit:
      return WriteJunit(what, options.inconclusive_fails);
    case Form::kSarif:
      return WriteSarif(what, options.sarif);
  }
  return "";
}

}  // namespace

std::string Write(const Report& report, Form form, const FormOptions& options) {
  return WriteAny(report, form, options);
}
std::string Write(const compare::Comparison& comparison, Form form, const FormOptions& options) {
  return WriteAny(comparison, form, options);
}

std::string Write(const SweepTable& table, Form form, const FormOptions& options) {
  if (form == Form::kHtml) return WriteHtml(DocumentOf(table, kMostPageRows));
  if (form == Form::kMarkdown) return WriteMarkdown(DocumentOf(table, kMostMarkdownRows));
  return WriteText(DocumentOf(table, kMostTextRows), options.text);
}

}  // namespace stallscope::report
