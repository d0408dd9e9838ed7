// A value, or the reason why there is none.
//
// Every call that can fail for a reason outside this program returns Result<T>. The error says what
// happened, where, and what to do, and which exit code the program ends with. Libraries never print
// it: the caller at the edge does. Any thread.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace stallscope {

// What a failure means to the caller; the values are the program's exit codes.
enum class ErrorKind {
  kUsage = 2,  // wrong usage, or a bad spec, budget, patch or option value
  kInput = 3,  // a missing or unreadable input
  kRun = 5,    // the run failed, or cannot run here
};

struct Error {
  ErrorKind kind = ErrorKind::kInput;
  std::string what;   // "the header is truncated"
  std::string where;  // "run.sst, offset 12"; may be empty
  std::string hint;   // what to do about it; may be empty

  // "where: what; hint", on one line whatever the parts contain.
  std::string Line() const;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  const T& value() const& {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  T& value() & {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    assert(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  const Error& error() const& {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    assert(!ok());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

// The result of a call that returns nothing but may fail.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_.has_value(); }
  const Error& error() const& {
    assert(!ok());
    return *error_;
  }
  Error&& error() && {
    assert(!ok());
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace stallscope

#define STALLSCOPE_CONCAT_INNER(a, b) a##b
#define STALLSCOPE_CONCAT(a, b) STALLSCOPE_CONCAT_INNER(a, b)

// Returns the error of `expression`, if it has one, from the calling function.
#define STALLSCOPE_RETURN_IF_ERROR(expression)                                \
  do {                                                                        \
    auto stallscope_status = (expression);                                    \
    if (!stallscope_status.ok()) return std::move(stallscope_status).error(); \
  } while (false)

// NOLINTBEGIN(bugprone-macro-parentheses): a declaration cannot stand in parentheses.
// STALLSCOPE_ASSIGN_OR_RETURN(auto file, Open(path));
#define STALLSCOPE_ASSIGN_OR_RETURN(target, expression)                                      \
  STALLSCOPE_ASSIGN_OR_RETURN_INNER(STALLSCOPE_CONCAT(stallscope_result_, __LINE__), target, \
                                    expression)
#define STALLSCOPE_ASSIGN_OR_RETURN_INNER(result, target, expression) \
  auto result = (expression);                                         \
  if (!result.ok()) return std::move(result).error();                 \
  target = std::move(result).value()
// NOLINTEND(bugprone-macro-parentheses)
