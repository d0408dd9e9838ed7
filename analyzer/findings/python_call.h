// Finds a call in Python source, and sets one of its arguments in the style of the call's author.
//
// The scanner knows everything that may hide a comma or a bracket: strings of every kind, comments,
// brackets, lambdas. It refuses source that it does not understand and guesses nothing: it leaves
// values that are not literals, and calls that may already have the argument. Pure; any thread.
// Offsets are in bytes.
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
  size_t value = 0;  // where the value begins, after the name or the stars
  size_t end = 0;
  std::string name;  // empty: by position
  int stars = 0;
  bool generator = false;  // "x for x in y"
};

struct PythonCall {
  size_t begin = 0;
  size_t open = 0;     // the bracket
  size_t end = 0;      // after the closing one
  std::string callee;  // the last part of its name: "DataLoader"
  std::vector<PythonArgument> arguments;
  std::optional<size_t> last_comma;  // after the last argument
};

// Reads the plain call `a.b.c(...)` that begins at `begin`; nothing if it is incomplete.
std::optional<PythonCall> ReadCall(std::string_view source, size_t begin);

// The calls between `begin` and `end` whose callee has one of these names, read by ReadCall;
// nothing in place of one that it cannot read.
std::vector<std::optional<PythonCall>> FindCalls(std::string_view source, size_t begin, size_t end,
                                                 const std::vector<std::string>& callees);

// The parameters of a constructor.
struct PythonSignature {
  std::vector<std::string> parameters;  // by position, or by name
  std::vector<std::string> keywords;    // by name only
  bool any_keyword = false;
};

// Why an argument cannot be set, as a predicate of the call: "passes **options".
struct Refusal {
  std::string why;
};

// The whole source with the argument set to `value`, a Python expression.
std::variant<std::string, Refusal> WithArgument(std::string_view source, const PythonCall& call,
                                                const PythonSignature& signature,
                                                const std::string& name, const std::string& value);
// The whole source without an argument given by name; unchanged if the call has none.
std::variant<std::string, Refusal> WithoutArgument(std::string_view source, const PythonCall& call,
                                                   const std::string& name);

// A string literal with the source's style of quotes.
std::string QuotedLike(std::string_view source, std::string_view text);

}  // namespace stallscope::findings
