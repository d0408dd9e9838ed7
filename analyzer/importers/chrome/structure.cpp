#include "analyzer/importers/chrome/structure.h"

#include <simdjson.h>

#include <cstring>

namespace stallscope::importers::chrome {

struct Structure::Simd {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> parser;
  size_t capacity = 0;

  bool Reserve(size_t size) {
    if (parser && size <= capacity) return true;
    capacity = size + size / 4;
    if (parser) return parser->allocate(capacity, 1) == simdjson::SUCCESS;
    return simdjson::get_active_implementation()->create_dom_parser_implementation(
               capacity, 1, parser) == simdjson::SUCCESS;
  }
};

Structure::Structure() : simd_(std::make_unique<Simd>()) {}
Structure::~Structure() = default;

std::optional<IndexedText> Structure::Index(std::string_view text) {
  if (!simd_->Reserve(text.size())) return std::nullopt;
  auto& parser = *simd_->parser;
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  const simdjson::error_code error =
      parser.stage1(bytes, text.size(), simdjson::stage1_mode::regular);
  if (error == simdjson::EMPTY) return IndexedText{text.data(), text.size(), nullptr, 0};
  if (error != simdjson::SUCCESS) return std::nullopt;
  return IndexedText{text.data(), text.size(), parser.structural_indexes.get(),
                     parser.n_structural_indexes};
}

namespace {

// What may come next inside a value.
enum class Expect { kValue, kKey, kFirstKey, kColon, kSeparator };

class OneValue {
 public:
  OneValue(std::string_view text, std::vector<uint32_t>& places) : text_(text), places_(places) {}

  Structure::Found Walk() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (IndexedText::IsSpace(c)) continue;
      places_.push_back(static_cast<uint32_t>(at_));
      if (!Take(c)) return at_ >= text_.size() ? Structure::Found::kCut : Structure::Found::kBroken;
      if (open_.empty()) {
        ++at_;
        return Structure::Found::kWhole;
      }
    }
    return Structure::Found::kCut;
  }
  size_t end() const { return at_; }

 private:
  // Leaves at_ on the last character of what it took.
  bool Take(char c) {
    switch (c) {
      case '{':
      case '[':
        if (expect_ != Expect::kValue || open_.size() >= IndexedText::kMostDepth) return false;
        open_ += c == '{' ? '}' : ']';
        expect_ = c == '{' ? Expect::kFirstKey : Expect::kValue;
        return true;
      case '}':
      case ']':
        // At the top a closing bracket stands for itself.
        if (open_.empty()) return true;
        if (open_.back() != c || expect_ == Expect::kColon) return false;
        open_.pop_back();
        expect_ = Expect::kSeparator;
        return true;
      case ',':
        if (open_.empty()) return true;
        if (expect_ != Expect::kSeparator) return false;
        expect_ = open_.back() == '}' ? Expect::kKey : Expect::kValue;
        return true;
      case ':':
        if (open_.empty()) return true;
        if (expect_ != Expect::kColon) return false;
        expect_ = Expect::kValue;
        return true;
      case '"':
        return TakeString();
      default:
        return TakeScalar();
    }
  }

  bool TakeString() {
    const bool key = expect_ == Expect::kKey || expect_ == Expect::kFirstKey;
    if (!key && expect_ != Expect::kValue) return false;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    expect_ = key ? Expect::kColon : Expect::kSeparator;
    return at_ < text_.size();
  }

  bool TakeScalar() {
    if (expect_ != Expect::kValue) return false;
    const size_t begin = at_;
    while (at_ < text_.size() && std::strchr("{}[],:\" \t\r\n", text_[at_]) == nullptr) ++at_;
    if (at_ == begin) return false;  // a NUL: strchr finds the string's end
    if (at_ >= text_.size() && !open_.empty()) return false;
    --at_;
    expect_ = Expect::kSeparator;
    return true;
  }

  std::string_view text_;
  std::vector<uint32_t>& places_;
  std::string open_;
  Expect expect_ = Expect::kValue;
  size_t at_ = 0;
};

}  // namespace

Structure::Found Structure::IndexOne(std::string_view text, IndexedText& one) {
  places_.clear();
  OneValue value(text, places_);
  const Found found = value.Walk();
  one = {text.data(), std::min(value.end(), text.size()), places_.data(), places_.size()};
  return found;
}

}  // namespace stallscope::importers::chrome
