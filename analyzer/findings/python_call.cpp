#include "analyzer/findings/python_call.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "analyzer/words/words.h"

namespace stallscope::findings {
namespace {

constexpr int kDeepest = 200;       // brackets in brackets
constexpr size_t kLineByPep8 = 79;  // beyond it, an added argument gets a line of its own,
constexpr size_t kLongestLine =
    120;  // or beyond the longest nearby line, if that is at most this long

bool IsNameByte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || c == '_' || byte >= 0x80;
}
bool IsNameStart(char c) {
  return IsNameByte(c) && std::isdigit(static_cast<unsigned char>(c)) == 0;
}
bool IsQuote(char c) { return c == '"' || c == '\''; }

bool IsStringPrefix(std::string_view word) {
  constexpr std::array<std::string_view, 11> kPrefixes = {"r",  "u",  "b",  "f",  "t", "br",
                                                          "rb", "fr", "rf", "tr", "rt"};
  std::string lower;
  for (const char c : word) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(kPrefixes.begin(), kPrefixes.end(), lower) != kPrefixes.end();
}

// Reads source token by token. After a failure it stays at the end.
class PythonScanner {
 public:
  PythonScanner(std::string_view text, size_t at) : text_(text), at_(std::min(at, text.size())) {}

  size_t at() const { return at_; }
  bool failed() const { return failed_; }
  bool AtEnd() const { return at_ >= text_.size(); }
  char Next(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool Fail() {
    failed_ = true;
    at_ = text_.size();
    return false;
  }

  // Skips blanks, line ends, comments and line continuations.
  void SkipBlank() {
    for (; !AtEnd(); ++at_) {
      const char c = Next();
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        if (AtEnd()) return;
      } else if (c == '\\' && (Next(1) == '\n' || Next(1) == '\r')) {
        continue;
      } else if (c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f') {
        return;
      }
    }
  }

  // A name or a number; empty if the next token is neither.
  std::string_view TakeWord() {
    const size_t from = at_;
    while (IsNameByte(Next()) && !AtEnd()) ++at_;
    return text_.substr(from, at_ - from);
  }

  // Skips one token with everything that it encloses. Returns it if it is a word.
  std::string_view SkipToken() {
    const char c = Next();
    if (IsNameByte(c)) {
      const std::string_view word = TakeWord();
      if (!IsQuote(Next()) || !IsStringPrefix(word)) return word;
      SkipString(word.find_first_of("fFtT") != std::string_view::npos);
    } else if (IsQuote(c)) {
      SkipString(false);
    } else if (c == '(' || c == '[' || c == '{') {
      SkipBracket();
    } else if (c == ')' || c == ']' || c == '}') {
      Fail();
    } else {
      ++at_;
    }
    return {};
  }

 private:
  void SkipBracket() {
    const char open = Next();
    const char close = open == '(' ? ')' : open == '[' ? ']' : '}';
    if (++depth_ > kDeepest) Fail();
    ++at_;
    for (SkipBlank(); !AtEnd() && Next() != close; SkipBlank()) SkipToken();
    if (Next() != close) Fail();
    if (!AtEnd()) ++at_;
    --depth_;
  }

  // Text in braces of an f-string is code, up to a format.
  void SkipString(bool formatted) {
    const char quote = Next();
    const bool triple = Next(1) == quote && Next(2) == quote;
    at_ += triple ? 3 : 1;
    for (; !AtEnd(); ++at_) {
      const char c = Next();
      if (c == '\\') {
        ++at_;
      } else if (c == '\n' && !triple) {
        break;
      } else if (formatted && c == '{' && Next(1) == '{') {
        ++at_;
      } else if (formatted && c == '{') {
        SkipField();
        --at_;
      } else if (c == quote && (!triple || (Next(1) == quote && Next(2) == quote))) {
        at_ += triple ? 3 : 1;
        return;
      }
    }
    Fail();
  }

  void SkipField() {
    if (++depth_ > kDeepest) Fail();
    ++at_;
    for (SkipBlank(); !AtEnd() && Next() != '}' && Next() != ':'; SkipBlank()) SkipToken();
    while (!AtEnd() && Next() != '}') {  // the format
      if (Next() == '\n') Fail();
      if (Next() == '{') {
        SkipField();
      } else if (!AtEnd()) {
        ++at_;
      }
    }
    if (AtEnd()) Fail();
    if (!AtEnd()) ++at_;
    --depth_;
  }

  std::string_view text_;
  size_t at_;
  int depth_ = 0;
  bool failed_ = false;
};

// Its name, if it has one, and where its value begins.
void TakeName(std::string_view source, PythonScanner& scanner, PythonArgument& argument) {
  while (scanner.Next() == '*') {
    ++argument.stars;
    scanner.SkipToken();
  }
  scanner.SkipBlank();
  argument.value = scanner.at();
  if (argument.stars != 0 || !IsNameStart(scanner.Next())) return;
  PythonScanner ahead(source, scanner.at());
  const std::string_view word = ahead.TakeWord();
  ahead.SkipBlank();
  if (ahead.Next() != '=' || ahead.Next(1) == '=') return;
  argument.name = word;
  PythonScanner behind(source, ahead.at() + 1);
  behind.SkipBlank();
  argument.value = behind.at();
  scanner = behind;
}

// Skips to the comma or bracket after the argument. A comma between `lambda` and its colon belongs
// to the lambda.
void TakeArgument(std::string_view source, PythonScanner& scanner, PythonCall& call) {
  PythonArgument argument;
  argument.begin = scanner.at();
  TakeName(source, scanner, argument);
  int lambdas = 0;
  argument.end = scanner.at();
  while (!scanner.AtEnd() && scanner.Next() != ')' && (scanner.Next() != ',' || lambdas > 0)) {
    if (scanner.Next() == ':' && lambdas > 0) --lambdas;
    const std::string_view word = scanner.SkipToken();
    if (word == "lambda") ++lambdas;
    if (word == "for") argument.generator = true;
    argument.end = scanner.at();
    scanner.SkipBlank();
  }
  if (argument.end == argument.value) scanner.Fail();
  call.arguments.push_back(std::move(argument));
}

size_t LineBegin(std::string_view source, size_t at) {
  const size_t feed = at == 0 ? std::string_view::npos : source.rfind('\n', at - 1);
  return feed == std::string_view::npos ? 0 : feed + 1;
}

// The end of the line, without its line break.
size_t LineEnd(std::string_view source, size_t at) {
  const size_t end = std::min(source.find('\n', at), source.size());
  return end > at && source[end - 1] == '\r' ? end - 1 : end;
}

std::string IndentAt(std::string_view source, size_t at) {
  const std::string_view line = source.substr(LineBegin(source, at));
  return std::string(line.substr(0, std::min(line.find_first_not_of(" \t"), line.size())));
}

bool BeginsLine(std::string_view source, size_t at) {
  const size_t begin = LineBegin(source, at);
  return source.substr(begin, at - begin).find_first_not_of(" \t") == std::string_view::npos;
}

std::string LineEnding(std::string_view source, size_t at) {
  const size_t end = LineEnd(source, at);
  return end < source.size() && source[end] == '\r' ? "\r\n" : "\n";
}

bool OneArgumentPerLine(std::string_view source, const PythonCall& call) {
  size_t line = LineBegin(source, call.open);
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const size_t mine = LineBegin(source, call.arguments[i].begin);
    if (mine == line && (i > 0 || call.arguments.size() == 1)) return false;
    line = mine;
  }
  return BeginsLine(source, call.arguments.back().begin);
}

std::string Inserted(std::string_view source, size_t at, std::string_view text) {
  return std::string(source.substr(0, at)) + std::string(text) + std::string(source.substr(at));
}

// Adds a line of its own after the last argument and its comment.
std::string WithNewLine(std::string_view source, const PythonCall& call, const std::string& text) {
  const PythonArgument& last = call.arguments.back();
  const std::string indent = IndentAt(source, last.begin);
  const std::string ending = LineEnding(source, last.end);
  const size_t behind = call.last_comma ? *call.last_comma + 1 : last.end;
  const std::string comma = call.last_comma ? "," : "";
  if (call.end - 1 < LineEnd(source, behind)) {  // the bracket is on the same line
    return Inserted(source, behind, (call.last_comma ? "" : ",") + ending + indent + text + comma);
  }
  const std::string added =
      Inserted(source, LineEnd(source, behind), ending + indent + text + comma);
  return call.last_comma ? added : Inserted(added, last.end, ",");
}

size_t MostColumns(std::string_view source) {
  size_t longest = 0;
  for (size_t at = 0; at < source.size(); at = std::min(source.find('\n', at), source.size()) + 1) {
    longest = std::max(longest, words::TextWidth(source.substr(at, LineEnd(source, at) - at)));
  }
  return std::clamp(longest, kLineByPep8, kLongestLine);
}

// As between the call's other arguments on a line: "," or ", ".
std::string CommaOf(std::string_view source, const PythonCall& call) {
  for (size_t i = call.arguments.size(); i-- > 1;) {
    const size_t begin = call.arguments[i].begin;
    if (source[begin - 1] == ',') return ",";
    if (source[begin - 1] == ' ' && !BeginsLine(source, begin)) return ", ";
  }
  return ", ";
}

// Adds it to the last argument's line, or to the next line if that gets too long.
std::string WithinLine(std::string_view source, const PythonCall& call, const std::string& text) {
  const PythonArgument& last = call.arguments.back();
  std::string added = Inserted(source, last.end, CommaOf(source, call) + text);
  const size_t begin = LineBegin(added, last.end);
  const size_t width = words::TextWidth(added.substr(begin, LineEnd(added, last.end) - begin));
  if (width <= MostColumns(source)) return added;
  std::string indent = IndentAt(source, last.begin);
  const size_t first = call.arguments.front().begin;
  const size_t opens = LineBegin(source, call.open);
  if (LineBegin(source, last.begin) == opens && LineBegin(source, first) == opens) {
    indent += std::string(
        words::TextWidth(source.substr(opens, first - opens)) - words::TextWidth(indent), ' ');
  }
  return Inserted(source, last.end, "," + LineEnding(source, last.end) + indent + text);
}

// As in the call's other keywords: "=" or " = ".
std::string EqualsOf(std::string_view source, const PythonCall& call) {
  for (auto argument = call.arguments.rbegin(); argument != call.arguments.rend(); ++argument) {
    if (argument->name.empty()) continue;
    const size_t behind = argument->begin + argument->name.size();
    const std::string_view between = source.substr(behind, argument->value - behind);
    return between.find_first_not_of(" =") == std::string_view::npos ? std::string(between) : "=";
  }
  return "=";
}

// True for a number, a string, True, False or None.
bool IsLiteral(std::string_view value) {
  if (value == "True" || value == "False" || value == "None") return true;
  PythonScanner scanner(value, value.starts_with('-') ? 1 : 0);
  if (std::isdigit(static_cast<unsigned char>(scanner.Next())) != 0) {
    return value.find_first_not_of("0123456789_.", scanner.at()) == std::string_view::npos;
  }
  const size_t quote = value.find_first_of("\"'");
  const std::string_view prefix = value.substr(0, std::min(quote, value.size()));
  if (quote == std::string_view::npos || (!prefix.empty() && !IsStringPrefix(prefix)) ||
      prefix.find_first_of("fFtT") != std::string_view::npos) {
    return false;
  }
  PythonScanner whole(value, 0);
  whole.SkipToken();
  return !whole.failed() && whole.at() == value.size();
}

// Its first line, shortened.
std::string Shown(std::string_view text) {
  constexpr size_t kWidest = 60;
  std::string line(text.substr(0, text.find_first_of("\r\n")));
  if (line.size() < text.size()) line += " ...";
  return words::CutTo(line, kWidest);
}

// The argument given by this name, or by its position.
std::variant<const PythonArgument*, Refusal> Given(std::string_view source, const PythonCall& call,
                                                   const PythonSignature& signature,
                                                   const std::string& name) {
  const auto& arguments = call.arguments;
  for (const PythonArgument& argument : arguments) {
    if (argument.name == name) return &argument;
  }
  const auto place = std::find(signature.parameters.begin(), signature.parameters.end(), name);
  size_t index = static_cast<size_t>(place - signature.parameters.begin());
  for (const PythonArgument& argument : arguments) {
    const bool by_place = place != signature.parameters.end() && argument.name.empty();
    if (argument.stars == 2 || (argument.stars == 1 && by_place)) {
      return Refusal{"passes " +
                     Shown(source.substr(argument.begin, argument.end - argument.begin))};
    }
    if (by_place && index-- == 0) return &argument;
  }
  return static_cast<const PythonArgument*>(nullptr);
}

}  // namespace

std::optional<PythonCall> ReadCall(std::string_view source, size_t begin) {
  PythonCall call;
  call.begin = begin;
  PythonScanner scanner(source, begin);
  while (true) {
    if (!IsNameStart(scanner.Next())) return std::nullopt;
    call.callee = scanner.TakeWord();
    scanner.SkipBlank();
    if (scanner.Next() != '.') break;
    scanner.SkipToken();
    scanner.SkipBlank();
  }
  if (scanner.Next() != '(') return std::nullopt;
  call.open = scanner.at();
  scanner = PythonScanner(source, call.open + 1);
  for (scanner.SkipBlank(); !scanner.AtEnd() && scanner.Next() != ')'; scanner.SkipBlank()) {
    call.last_comma.reset();
    TakeArgument(source, scanner, call);
    if (scanner.Next() != ',') continue;
    call.last_comma = scanner.at();
    scanner.SkipToken();
  }
  if (scanner.failed() || scanner.Next() != ')') return std::nullopt;
  call.end = scanner.at() + 1;
  return call;
}

std::vector<std::optional<PythonCall>> FindCalls(std::string_view source, size_t begin, size_t end,
                                                 const std::vector<std::string>& callees) {
  std::vector<std::optional<PythonCall>> calls;
  const auto is_callee = [&](std::string_view word) {
    return std::find(callees.begin(), callees.end(), word) != callees.end();
  };
  for (size_t at = begin; at < end;) {
    PythonScanner scanner(source, at);
    scanner.SkipBlank();
    at = scanner.at();
    if (at >= end) break;
    const size_t chain = at;
    if (IsNameStart(scanner.Next())) {
      std::string_view word = scanner.SkipToken();
      while (scanner.Next() == '.' && IsNameStart(scanner.Next(1))) {
        scanner.SkipToken();
        word = scanner.SkipToken();
      }
      const bool declared = word == "def" || word == "class";
      const size_t behind = scanner.at();
      scanner.SkipBlank();
      if (is_callee(word) && scanner.Next() == '(') calls.push_back(ReadCall(source, chain));
      if (declared) scanner.SkipToken();  // its name is not a call
      at = declared ? scanner.at() : behind;
    } else if (IsQuote(scanner.Next())) {
      scanner.SkipToken();
      at = scanner.at();
    } else {
      ++at;
    }
  }
  return calls;
}

std::variant<std::string, Refusal> WithArgument(std::string_view source, const PythonCall& call,
                                                const PythonSignature& signature,
                                                const std::string& name, const std::string& value) {
  const auto given = Given(source, call, signature, name);
  if (const auto* const refusal = std::get_if<Refusal>(&given)) return *refusal;
  if (const PythonArgument* const argument = std::get<const PythonArgument*>(given)) {
    const std::string_view old = source.substr(argument->value, argument->end - argument->value);
    if (!IsLiteral(old)) return Refusal{"passes " + Shown(old) + " for " + name};
    return std::string(source.substr(0, argument->value)) + value +
           std::string(source.substr(argument->end));
  }
  const auto takes = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (!signature.any_keyword && !takes(signature.parameters) && !takes(signature.keywords)) {
    return Refusal{"goes to a constructor that takes no " + name};
  }
  const auto& arguments = call.arguments;
  if (std::any_of(arguments.begin(), arguments.end(),
                  [](const PythonArgument& argument) { return argument.generator; })) {
    return Refusal{"passes a generator without parentheses"};
  }
  const std::string text = name + EqualsOf(source, call) + value;
  if (arguments.empty()) return Inserted(source, call.open + 1, text);
  return OneArgumentPerLine(source, call) ? WithNewLine(source, call, text)
                                          : WithinLine(source, call, text);
}

std::variant<std::string, Refusal> WithoutArgument(std::string_view source, const PythonCall& call,
                                                   const std::string& name) {
  const auto& arguments = call.arguments;
  const auto found = std::find_if(arguments.begin(), arguments.end(),
                                  [&](const auto& argument) { return argument.name == name; });
  if (found == arguments.end()) {
    const auto stars = std::find_if(arguments.begin(), arguments.end(),
                                    [](const auto& argument) { return argument.stars == 2; });
    if (stars == arguments.end()) return std::string(source);
    return Refusal{"passes " + Shown(source.substr(stars->begin, stars->end - stars->begin))};
  }
  if (found == arguments.begin()) return Refusal{"has " + name + " as its first argument"};
  // With the comma before it; a comment between the two would go with it.
  const size_t from = std::prev(found)->end;
  const std::string_view between = source.substr(from, found->begin - from);
  if (between.find('#') != std::string_view::npos) return Refusal{"has a comment before " + name};
  return std::string(source.substr(0, from)) + std::string(source.substr(found->end));
}

std::string QuotedLike(std::string_view source, std::string_view text) {
  const auto single = std::count(source.begin(), source.end(), '\'');
  const auto twice = std::count(source.begin(), source.end(), '"');
  const std::string quote = single > twice ? "'" : "\"";
  return quote + std::string(text) + quote;
}

}  // namespace stallscope::findings
