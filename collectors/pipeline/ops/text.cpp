// From texts to numbers: tokenize, pad.
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "collectors/pipeline/ops/make.h"

namespace stallscope::pipeline {
namespace {

// Calls `visit` with each word: what stands between blanks.
template <class Visit>
void ForWords(std::string_view text, const Visit& visit) {
  constexpr std::string_view kBlanks = " \t\r\n";
  for (size_t at = text.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    visit(text.substr(at, end - at));
    at = text.find_first_not_of(kBlanks, end);
  }
}

// By hash, so that no vocabulary has to be built and read first; 0 is left to padding.
class Tokenize final : public Op {
 public:
  Tokenize(uint64_t vocabulary, FeatureKeys keys)
      : vocabulary_(vocabulary), keys_(std::move(keys)) {}

  Status Apply(Element& element, OpWorker& worker) const override {
    STALLSCOPE_ASSIGN_OR_RETURN(const data::ByteView bytes,
                                TextOf(element, "tokenize", keys_, worker));
    const std::string_view text = data::AsText(bytes);
    int64_t words = 0;
    ForWords(text, [&](std::string_view) { ++words; });
    // A text without words is one of padding: an empty tensor would be no sample.
    STALLSCOPE_ASSIGN_OR_RETURN(
        data::Tensor tokens, worker.NewTensor(data::DType::kInt32, {std::max<int64_t>(words, 1)}));
    int32_t* next = tokens.Values<int32_t>().data();
    if (words == 0) *next = 0;
    ForWords(text, [&](std::string_view word) {
      *next++ = static_cast<int32_t>(1 + XXH3_64bits(word.data(), word.size()) % vocabulary_);
    });
    worker.Replace(element, std::move(tokens));
    return {};
  }

 private:
  const uint64_t vocabulary_;
  const FeatureKeys keys_;
};

class PadTo final : public Op {
 public:
  explicit PadTo(int64_t length) : length_(length) {}

  Status Apply(Element& element, OpWorker& worker) const override {
    const data::Tensor& before = element.value;
    if (element.content != Content::kTensor || before.shape().rank() != 1) {
      return Error{ErrorKind::kRun,
                   fmt::format("pad needs a list of values, not {} of {}",
                               before.shape().ToString(), data::Name(before.dtype())),
                   "", "tokenize first"};
    }
    STALLSCOPE_ASSIGN_OR_RETURN(data::Tensor padded, worker.NewTensor(before.dtype(), {length_}));
    const size_t kept = std::min(before.bytes(), padded.bytes());
    std::memcpy(padded.data(), before.data(), kept);
    std::memset(padded.data() + kept, 0, padded.bytes() - kept);
    worker.Replace(element, std::move(padded));
    return {};
  }

 private:
  const int64_t length_;
};

}  // namespace

OpPtr MakeTextOp(const OpInstance& call, const FeatureKeys& keys) {
  const std::string_view name = call.call.name();
  if (name == "tokenize") {
    return std::make_unique<Tokenize>(static_cast<uint64_t>(call.call.Integer("vocabulary")), keys);
  }
  if (name == "pad") return std::make_unique<PadTo>(call.call.Integer("length"));
  return nullptr;
}

}  // namespace stallscope::pipeline
