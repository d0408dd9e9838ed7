#include "analyzer/report/forms.h"

#include "analyzer/report/html.h"
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

namespace {

template <class What>
std::string WriteAny(const What& what, Form form, const FormOptions& options) {
  switch (form) {
    case Form::kText:
      return WriteText(what, options.text);
    case Form::kJson:
      return WriteJson(what);
    case Form::kMarkdown:
      return WriteMarkdown(what);
    case Form::kHtml:
      return WriteHtml(what);
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

}  // namespace stallscope::report
