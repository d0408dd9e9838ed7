// The answer as a line for people: what changed, by how much, and how that was found.
#ifndef STALLSCOPE_ANALYZER_COMPARE_TEXT_H_
#define STALLSCOPE_ANALYZER_COMPARE_TEXT_H_

#include <string>
#include <string_view>

#include "analyzer/compare/answer.h"

namespace stallscope::compare {

// "mann-whitney", "block bootstrap", "same runs", "none"
std::string_view WordFor(Basis basis);

std::string TextOf(const Evidence& evidence);

}  // namespace stallscope::compare

#endif  // STALLSCOPE_ANALYZER_COMPARE_TEXT_H_
