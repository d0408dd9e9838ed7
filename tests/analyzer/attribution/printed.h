// Every field of an attribution as text, so that two can be compared and a difference be read.
#pragma once

#include <string>

#include "analyzer/attribution/attribution.h"

namespace stallscope::test {

std::string Printed(const attribution::Attribution& attribution);

}  // namespace stallscope::test
