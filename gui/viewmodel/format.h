// Figures as people read them, and exactly. Any thread.
#ifndef STALLSCOPE_GUI_VIEWMODEL_FORMAT_H_
#define STALLSCOPE_GUI_VIEWMODEL_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string>

namespace stallscope::viewmodel {

// "412 ns", "41.2 us", "4.12 ms", "41.2 s": three digits.
std::string ShortNs(int64_t ns);
// "4,123,456 ns": for tooltips.
std::string ExactNs(int64_t ns);
// "4.12 ms (4,123,456 ns)".
std::string BothNs(int64_t ns);
// A place on the timeline, since `origin_ns`, with as many digits as `step_ns` needs: "1.2345 s".
std::string TimeAt(int64_t time_ns, int64_t origin_ns, int64_t step_ns);

std::string Grouped(uint64_t count);   // "4,123,456"
std::string Percent(double fraction);  // "41.2 %"
std::string PercentOrDash(const std::optional<double>& fraction);
std::string Rate(double samples_per_s);  // "1,230/s", "12.3/s"
std::string BytesText(uint64_t bytes);   // "12.0 MiB"
std::string Factor(double factor);       // "1.80x"
std::string Number(double value);        // at most four digits

// `text` cut to so many characters, with an ellipsis; never inside a character.
std::string Fitted(const std::string& text, size_t characters);

}  // namespace stallscope::viewmodel

#endif  // STALLSCOPE_GUI_VIEWMODEL_FORMAT_H_
