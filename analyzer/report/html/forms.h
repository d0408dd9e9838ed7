// Every form in which a report can be written, by its --format word. Returns the content of a whole
// file: WriteFileAtomically (analyzer/base/file.h) puts it in place. It is in this room because all
// the writers are. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analyzer/report/report.h"
#include "analyzer/report/sarif.h"
#include "analyzer/report/sweep_table.h"
#include "analyzer/report/text.h"

namespace stallscope::report {

enum class Form : uint8_t { kText, kJson, kMarkdown, kHtml, kJunit, kSarif };
constexpr std::array<std::string_view, 6> kFormWords = {"text", "json",  "markdown",
                                                        "html", "junit", "sarif"};
std::optional<Form> FormOf(std::string_view word);
// What a file's name says of its content: "report.html", "junit.xml". Nothing where its ending is
// no form's.
std::optional<Form> FormOfName(std::string_view path);

struct FormOptions {
  TextOptions text;
  SarifOptions sarif;
  bool inconclusive_fails = true;  // --inconclusive=fail
};

std::string Write(const Report& report, Form form, const FormOptions& options = {});
std::string Write(const compare::Comparison& comparison, Form form,
                  const FormOptions& options = {});
// kText, kMarkdown or kHtml; the sweep file is the JSON.
std::string Write(const SweepTable& table, Form form, const FormOptions& options = {});

}  // namespace stallscope::report
