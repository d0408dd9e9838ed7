// A call in Python source, and the same source with one of its arguments set as the call's author
// would write it.
//
// The scanner knows what may hide a comma or a bracket: strings of every kind, comments, brackets,
// lambdas. It refuses what it does not understand, and nothing is guessed: a value that is not a
// literal stays, and so does a call that may have the argument already. Pure; any thread. Offsets
// are in bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace stallscope::findings {

struct PythonArgument {
  size_t begin = 0;
  size_t value = 0;  // where the value begins: behind the name, or the stars
  size_t end = 0;
  std::string name;  // empty: by position
  int stars = 0;
  bool generator = false;  // "x for x in y"
};

struct PythonCall {
  size_t begin = 0;
  size_t open = 0;     // the bracket
  size_t end = 0;      // behind the closing one
  std::string callee;  // the last part of its name: "DataLoader"
  std::vector<PythonArgument> arguments;
  std::optional<size_t> last_comma;  // behind the last argument
};

// Of a plain call `a.b.c(...)` that begins at `begin` and is all there.
std::optional<PythonCall> ReadCall(std::string_view source, size_t begin);

// Those between `begin` and `end` whose callee has one of these names. Each as ReadCall reads it;
// nothing for one that it cannot read.
std::vector<std::optional<PythonCall>> FindCalls(std::string_view source, size_t begin, size_t end,
                                                 const std::vector<std::string>& callees);

// What a constructor takes.
struct PythonSignature {
  std::vector<std::string> parameters;  // by position, or by name
  std::vector<std::string> keywords;    // by name alone
  bool any_keyword = false;
};

// Why an argument cannot be set: how the call is written, "passes **options".
struct Refusal {
  std::string why;
};

// The whole source with the argument set to `value`, which is Python.
std::variant<std::string, Refusal> WithArgument(std::string_view source, const PythonCall& call,
                                                const PythonSignature& signature,
                                                const std::string& name, const std::string& value);
// Without an argument that is given by its name; as it is where there is none.
std::variant<std::string, Refusal> WithoutArgument(std::string_view source, const PythonCall& call,
                                                   const std::string& name);

// A string as the source writes them.
std::string QuotedLike(std::string_view source, std::string_view text);

}  // namespace stallscope::findings
