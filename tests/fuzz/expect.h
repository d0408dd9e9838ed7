// What must hold for every input: otherwise the fuzz target aborts.
#ifndef STALLSCOPE_TESTS_FUZZ_EXPECT_H_
#define STALLSCOPE_TESTS_FUZZ_EXPECT_H_

#include <cstdio>
#include <cstdlib>

#define STALLSCOPE_EXPECT(condition)                                                \
  do {                                                                              \
    if (!(condition)) {                                                             \
      std::fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                 \
    }                                                                               \
  } while (false)

#endif  // STALLSCOPE_TESTS_FUZZ_EXPECT_H_
