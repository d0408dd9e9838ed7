// What must hold for every input: otherwise the fuzz target aborts.
#pragma once

#include <cstdio>
#include <cstdlib>

#define STALLSCOPE_EXPECT(condition)                                                \
  do {                                                                              \
    if (!(condition)) {                                                             \
      std::fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                 \
    }                                                                               \
  } while (false)
