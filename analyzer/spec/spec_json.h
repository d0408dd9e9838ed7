// A spec as JSON text. The reader is strict: what it does not know is an error that says where and
// names the nearest thing it knows. The writer says only what differs from the defaults, always in
// the same order, so that equal specs have equal texts and ReadSpec(WriteSpec(x)) == x.
//
// Every error of a text is ErrorKind::kUsage. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "analyzer/base/result.h"
#include "analyzer/spec/spec.h"

namespace stallscope {

constexpr size_t kMaxSpecBytes = size_t{1} << 20;
constexpr size_t kMaxSpecDepth = 32;

// Reads and validates. `name` is what errors call the text: the file's name. Only a pipeline's: it
// is what a program can make from a text.
Result<Spec> ReadSpec(std::string_view text, const std::string& name);
// Of a pipeline or a job.
Result<Spec> ReadAnySpec(std::string_view text, const std::string& name);
// A file that cannot be opened or read is ErrorKind::kInput.
Result<Spec> ReadSpecFile(const std::string& path);

enum class JsonLayout { kIndented, kOneLine };
// An indented text ends with a line feed.
std::string WriteSpec(const Spec& spec, JsonLayout layout = JsonLayout::kIndented);

}  // namespace stallscope
