// A case that needs something that is not here says so and is reported as skipped, not as passed.
#ifndef STALLSCOPE_TESTS_SUPPORT_SKIP_H_
#define STALLSCOPE_TESTS_SUPPORT_SKIP_H_

#include <string>

namespace stallscope::test {

// Prints the reason; the caller then returns from the case.
void Skip(const std::string& reason);
bool Skipped();

}  // namespace stallscope::test

#endif  // STALLSCOPE_TESTS_SUPPORT_SKIP_H_
