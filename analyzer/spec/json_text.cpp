#include "analyzer/spec/json_text.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/base/escape.h"
#include "analyzer/base/file.h"
#include "analyzer/spec/nearest.h"

namespace stallscope {
namespace {

using nlohmann::json;

// Builds the tree. The library's own builder takes the last of two equal keys and any depth.
class TreeBuilder : public nlohmann::json_sax<json> {
 public:
  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(number_integer_t value) override { return Add(value); }
  bool number_unsigned(number_unsigned_t value) override { return Add(value); }
  bool number_float(number_float_t value, const string_t&) override { return Add(value); }
  bool string(string_t& value) override { return Add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(json::object()); }
  bool end_object() override { return Close(); }
  bool start_array(size_t) override { return Open(json::array()); }
  bool end_array() override { return Close(); }

  bool key(string_t& value) override {
    key_ = std::move(value);
    if (!open_.back()->contains(key_)) return true;
    fault_ = Fault{Here(), "the key " + Quoted(key_) + " is given twice", "keep one of them", true,
                   true};
    return false;
  }

  bool parse_error(size_t position, const std::string&, const json::exception& error) override {
    const std::string text = error.what();
    // "[json.exception...] parse error at line 1, column 9: what happened"
    const size_t colon = text.find(": ");
    syntax_error_ = colon == std::string::npos ? text : text.substr(colon + 2);
    constexpr size_t kLongest = 160;
    if (syntax_error_.size() > kLongest) syntax_error_ = syntax_error_.substr(0, kLongest) + "...";
    syntax_offset_ = position > 0 ? position - 1 : 0;
    return false;
  }

  json& root() { return root_; }
  const MaybeFault& fault() const { return fault_; }
  const std::string& syntax_error() const { return syntax_error_; }
  size_t syntax_offset() const { return syntax_offset_; }

 private:
  template <class T>
  bool Add(T&& value) {
    Put(json(std::forward<T>(value)));
    return true;
  }
  json* Put(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    keys_.back() = key_;
    return &(parent[key_] = std::move(value));
  }
  bool Open(json container) {
    if (open_.size() == kMaxSpecDepth) {
      fault_ = Fault{Here(), "nested deeper than " + std::to_string(kMaxSpecDepth) + " levels",
                     "no field needs that", false, false};
      return false;
    }
    open_.push_back(Put(std::move(container)));
    keys_.emplace_back();
    return true;
  }
  bool Close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }
  // The path of what comes next.
  JsonPath Here() const {
    JsonPath path;
    for (size_t i = 0; i < open_.size(); ++i) {
      const bool last = i + 1 == open_.size();
      if (open_[i]->is_object()) {
        path = path / std::string_view(last ? key_ : keys_[i]);
      } else {
        path = path / (open_[i]->size() - (last ? 0 : 1));
      }
    }
    return path;
  }

  json root_;
  std::vector<json*> open_;        // stays valid: only the innermost container grows
  std::vector<std::string> keys_;  // of each open object, the key that is being read
  std::string key_;
  MaybeFault fault_;
  std::string syntax_error_;
  size_t syntax_offset_ = 0;
};

// Steps over JSON text that the parser has found good as far as it is looked at.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    SkipSpace();
  }
  size_t at() const { return at_; }

  // Goes to the value of `key` and returns where the key starts; stays where it is without one.
  std::optional<size_t> EnterKey(const std::string& key, bool second) {
    if (Peek() != '{') return std::nullopt;
    const size_t start = at_;
    Step();
    while (Peek() == '"') {
      const size_t key_start = at_;
      SkipString();
      const json read = json::parse(text_.substr(key_start, at_ - key_start), nullptr, false);
      Step();  // the colon
      if (read == key && !std::exchange(second, false)) return key_start;
      SkipValue();
      if (Peek() == ',') Step();
    }
    at_ = start;
    return std::nullopt;
  }

  bool EnterIndex(size_t index) {
    if (Peek() != '[') return false;
    const size_t start = at_;
    Step();
    for (size_t i = 0; i < index && Peek() != ']'; ++i) {
      SkipValue();
      if (Peek() == ',') Step();
    }
    if (Peek() != ']') return true;
    at_ = start;
    return false;
  }

 private:
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void SkipSpace() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  void Step() {
    at_ = std::min(at_ + 1, text_.size());
    SkipSpace();
  }
  void SkipString() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    at_ = std::min(at_, text_.size());
    if (at_ < text_.size()) ++at_;
    SkipSpace();
  }
  void SkipValue() {
    size_t depth = 0;
    while (at_ < text_.size()) {
      const char c = Peek();
      if (depth == 0 && (c == ',' || c == ']' || c == '}')) return;
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      if (c == '"') {
        SkipString();
      } else {
        Step();
      }
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Result<json> ParseJson(std::string_view text, const std::string& name, const std::string& kind) {
  if (text.size() > kMaxSpecBytes) {
    return Error{ErrorKind::kUsage, "larger than " + std::to_string(kMaxSpecBytes) + " bytes", name,
                 "this is not a " + kind};
  }
  TreeBuilder builder;
  if (json::sax_parse(text.begin(), text.end(), &builder)) return std::move(builder.root());
  if (builder.fault().has_value()) return ToError(*builder.fault(), name, text);
  return Error{ErrorKind::kUsage, "not JSON: " + builder.syntax_error(),
               name + ':' + LineAndColumn(text, builder.syntax_offset()), "correct the text there"};
}

Result<std::string> ReadJsonFile(const std::string& path, const std::string& kind) {
  STALLSCOPE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  STALLSCOPE_ASSIGN_OR_RETURN(const uint64_t size, file.Size());
  if (size > kMaxSpecBytes) {
    return Error{ErrorKind::kUsage, "larger than " + std::to_string(kMaxSpecBytes) + " bytes", path,
                 "this is not a " + kind};
  }
  return ReadWholeFile(path, kMaxSpecBytes);
}

size_t Locate(std::string_view text, const JsonPath& path, bool at_key, bool second) {
  Scanner scanner(text);
  size_t key_start = scanner.at();
  for (size_t i = 0; i < path.steps.size(); ++i) {
    if (const size_t* index = std::get_if<size_t>(&path.steps[i])) {
      if (!scanner.EnterIndex(*index)) break;
      key_start = scanner.at();
    } else {
      const bool last = i + 1 == path.steps.size();
      const auto found =
          scanner.EnterKey(*std::get_if<std::string>(&path.steps[i]), last && second);
      if (!found.has_value()) break;
      key_start = *found;
    }
  }
  return at_key ? key_start : scanner.at();
}

std::string LineAndColumn(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t line_start = before.rfind('\n');
  const size_t column =
      line_start == std::string_view::npos ? before.size() + 1 : before.size() - line_start;
  return std::to_string(line) + ':' + std::to_string(column);
}

std::string TypeInWords(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  if (value.is_string()) return "a string";
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number()) return "a number";
  return "null";
}

std::string WriteJson(const nlohmann::ordered_json& tree, JsonLayout layout) {
  if (layout == JsonLayout::kOneLine) return JsonText(tree, -1);
  return JsonText(tree) + '\n';
}

bool IsUtf8(const std::string& text) {
  try {
    (void)json(text).dump();
    return true;
  } catch (const json::type_error&) {
    return false;
  }
}

}  // namespace stallscope
