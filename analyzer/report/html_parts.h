// What the page is put together from. Private to the room. Texts are escaped here and nowhere
// else: callers hand over what the report holds.
#ifndef STALLSCOPE_ANALYZER_REPORT_HTML_PARTS_H_
#define STALLSCOPE_ANALYZER_REPORT_HTML_PARTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/report/report.h"

namespace stallscope::report::html {

// The whole page with its style; `body` is markup.
std::string Page(const std::string& title, const std::string& body);
extern const std::string_view kStyle;
// Of pictures, as wide as the page's text.
inline constexpr double kPageWidth = 1040;

// <section> with a heading; nothing where the body is empty.
std::string Section(const std::string& title, const std::string& body);

// A figure with what it is; a list of lines, nothing where there are none.
std::string Tile(const std::string& figure, const std::string& what);
std::string List(const std::vector<std::string>& lines);

// Cells of texts. The first row is the head, `right` are the columns of numbers.
std::string Table(const std::vector<std::vector<std::string>>& rows,
                  const std::vector<size_t>& right);

// Pictures (html_pictures.cpp, html_graph.cpp), as inline SVG.
std::string BreakdownBar(const Report& report);
std::string Timeline(const Pictures& pictures);
std::string StepHistogram(const std::vector<double>& step_ms);
std::string StageGraph(const std::vector<StageRow>& stages);

// Sections (html_sections.cpp).
std::string Findings(const Report& report);
std::string Devices(const Report& report);
std::string Budget(const Report& report);
std::string Comparison(const compare::Comparison& comparison);

}  // namespace stallscope::report::html

#endif  // STALLSCOPE_ANALYZER_REPORT_HTML_PARTS_H_
