// Every field of an attribution as text, so that two can be compared and a difference be read.
#ifndef STALLSCOPE_TESTS_ANALYZER_ATTRIBUTION_PRINTED_H_
#define STALLSCOPE_TESTS_ANALYZER_ATTRIBUTION_PRINTED_H_

#include <string>

#include "analyzer/attribution/attribution.h"

namespace stallscope::test {

std::string Printed(const attribution::Attribution& attribution);

}  // namespace stallscope::test

#endif  // STALLSCOPE_TESTS_ANALYZER_ATTRIBUTION_PRINTED_H_
