// The calls of ParallelMapper in a chain of torchdata's nodes, one of which a change is about. Any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/model/run.h"

namespace stallscope::model {

struct Mapper {
  std::vector<std::string> functions;  // "data.py:7": what it calls for each element
  bool processes = false;
  std::optional<int64_t> max_concurrent;
};

// Gives each loader with such calls the settings of one of them: of several, the one whose
// functions took longest in the run, or none if that was not recorded. `threads` and `num_workers`
// (processes) are those of a library that has either.
void ChooseMappers(Run& run);

// Whether the loader is a chain with such calls, and the chosen one.
bool HasMappers(const trace::LoaderInfo& info);
std::optional<Mapper> MapperOf(const trace::LoaderInfo& info);

// Whether it calls the function that begins there.
bool Calls(const Mapper& mapper, const std::string& file, uint32_t line);

}  // namespace stallscope::model
