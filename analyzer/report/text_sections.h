// The parts of the text report. Private to the room.
#ifndef STALLSCOPE_ANALYZER_REPORT_TEXT_SECTIONS_H_
#define STALLSCOPE_ANALYZER_REPORT_TEXT_SECTIONS_H_

#include <string>
#include <string_view>

#include "analyzer/report/layout.h"
#include "analyzer/report/report.h"
#include "analyzer/report/text.h"

namespace stallscope::report {

std::string Heading(const std::string& text, bool colors);
// Wrapped lines: the first is moved `begin` columns to the right, the others `indent`.
std::string Lines(std::string_view text, size_t begin, size_t indent);
// Whole lines in one tone.
std::string Painted(const std::string& lines, Tone tone, bool colors);

// Each is empty where there is nothing to say.
std::string Findings(const Report& report, const TextOptions& options);
std::string Devices(const Report& report, bool colors);
std::string Memory(const Report& report, bool colors);
std::string Stragglers(const Report& report, bool colors);
std::string BudgetSection(const Report& report, bool colors);
std::string Limits(const Report& report, bool colors);

}  // namespace stallscope::report

#endif  // STALLSCOPE_ANALYZER_REPORT_TEXT_SECTIONS_H_
