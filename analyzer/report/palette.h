// One look for each category, in every form of the report: a colour of Okabe and Ito's palette,
// which people with any common colour blindness tell apart, and a glyph that says the same without
// colour. Private to the room.
#ifndef STALLSCOPE_ANALYZER_REPORT_PALETTE_H_
#define STALLSCOPE_ANALYZER_REPORT_PALETTE_H_

#include <string_view>

#include "analyzer/attribution/category.h"

namespace stallscope::report {

struct Look {
  std::string_view word;   // "input stall"
  std::string_view color;  // "#d55e00"
  int terminal;            // the nearest of the 256 colours
  char glyph;
};

const Look& LookOf(attribution::Category category);

}  // namespace stallscope::report

#endif  // STALLSCOPE_ANALYZER_REPORT_PALETTE_H_
