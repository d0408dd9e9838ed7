// A case that needs something that is not here says so and is reported as skipped, not as passed.
#pragma once

#include <string>

namespace stallscope::test {

// Prints the reason; the caller then returns from the case.
void Skip(const std::string& reason);
bool Skipped();

}  // namespace stallscope::test
