#include "analyzer/spec/ops.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cmath>
#include <optional>

#include "analyzer/spec/nearest.h"
#include "analyzer/spec/schema.h"
#include "analyzer/spec/spec.h"

namespace stallscope {
namespace {

using Type = OpArgumentType;

constexpr double kLongestUs = 60'000'000;
constexpr double kLargestSide = 16384;

constexpr std::array kDecodeJpeg = {
    OpParameter{"scale", Type::kEighths, 1, 8, "", "1/1"},
    OpParameter{"crop", Type::kFlag, 0, 0, "", "false"},
};
constexpr std::array kSide = {OpParameter{"size", Type::kInteger, 1, kLargestSide, "", ""}};
constexpr std::array kCast = {OpParameter{"dtype", Type::kWord, 0, 0, "uint8 float16 float32", ""}};
constexpr double kLargestFactor = 1e9;
constexpr std::array kScale = {
    OpParameter{"by", Type::kNumber, -kLargestFactor, kLargestFactor, "", ""},
    OpParameter{"offset", Type::kNumber, -kLargestFactor, kLargestFactor, "", "0"},
};
constexpr std::array kNormalize = {
    OpParameter{"by", Type::kNumber, -kLargestFactor, kLargestFactor, "", "1"},
    OpParameter{"offset", Type::kNumber, -kLargestFactor, kLargestFactor, "", "0"},
};
constexpr std::array kClasses = {OpParameter{"classes", Type::kInteger, 1, 1'000'000, "", ""}};
// Every number up to here is a float32, too.
constexpr std::array kVocabulary = {
    OpParameter{"vocabulary", Type::kInteger, 1, 16'777'216, "", ""}};
constexpr std::array kLength = {OpParameter{"length", Type::kInteger, 1, 1'000'000, "", ""}};
constexpr std::array kCost = {
    OpParameter{"us", Type::kNumber, 0, kLongestUs, "", ""},
    OpParameter{"every", Type::kInteger, 1, 1e12, "", "1"},
};
constexpr std::array kEvery = {OpParameter{"n", Type::kInteger, 1, 1e12, "", ""}};
constexpr std::array kProbability = {OpParameter{"p", Type::kNumber, 0, 1, "", ""}};
constexpr std::array kBytes = {OpParameter{"bytes", Type::kInteger, 0, 1e12, "", ""}};
constexpr std::span<const OpParameter> kNothing;

// name, role, on_device, random, batched, parameters, doc
constexpr std::array kOps = {
    OpInfo{"parse_example", OpRole::kMap, false, false, false, kNothing,
           "extracts the features of a tf.train.Example"},
    OpInfo{"decode_jpeg", OpRole::kMap, false, false, false, kDecodeJpeg,
           "JPEG to pixels; scale: 1/8 to 1/1 of the size; crop: only what a later crop keeps"},
    OpInfo{"decode_png", OpRole::kMap, false, false, false, kNothing, "PNG to pixels"},
    OpInfo{"decode_csv", OpRole::kMap, false, false, false, kNothing, "a CSV line to its values"},
    OpInfo{"resize", OpRole::kMap, true, false, false, kSide, "to a square of this side"},
    OpInfo{"crop", OpRole::kMap, true, false, true, kSide, "the middle square of this side"},
    OpInfo{"random_resized_crop", OpRole::kMap, true, true, false, kSide,
           "a random region, resized to a square of this side"},
    OpInfo{"flip", OpRole::kMap, true, true, true, kNothing,
           "mirrors left to right at random, half of the time"},
    OpInfo{"color_jitter", OpRole::kMap, true, true, true, kNothing,
           "randomly changes brightness, contrast and saturation"},
    OpInfo{"scale", OpRole::kMap, false, false, true, kScale, "value * by + offset, as float32"},
    OpInfo{"normalize", OpRole::kMap, true, false, true, kNormalize,
           "value * by + offset to mean 0 and deviation 1, as float32"},
    OpInfo{"cast", OpRole::kMap, true, false, true, kCast, "to another type"},
    OpInfo{"one_hot", OpRole::kMap, true, false, true, kClasses,
           "turns the label into a one-hot vector of this length"},
    OpInfo{"tokenize", OpRole::kMap, false, false, false, kVocabulary,
           "the text of a record to the numbers of its words, 1 to vocabulary, by their hash"},
    OpInfo{"pad", OpRole::kMap, false, false, false, kLength,
           "a list of values to this length: zeros follow a shorter one, a longer one is cut"},
    OpInfo{"busy", OpRole::kEither, false, false, false, kCost,
           "burns CPU for this many microseconds per element; every: only for one element in this "
           "many"},
    OpInfo{
        "sleep", OpRole::kEither, false, false, false, kCost,
        "waits this many microseconds per element without burning CPU; every: only for one element "
        "in this many"},
    OpInfo{"keep_one_in", OpRole::kFilter, false, false, false, kEvery,
           "keeps the first of every n elements"},
    OpInfo{"keep_fraction", OpRole::kFilter, false, true, false, kProbability,
           "keeps an element with this probability"},
    OpInfo{"min_bytes", OpRole::kFilter, false, false, false, kBytes,
           "keeps elements of at least this size"},
    OpInfo{"label_below", OpRole::kFilter, false, false, false, kClasses,
           "keeps elements whose label is below this"},
};

}  // namespace

std::span<const OpInfo> KnownOps() { return kOps; }

const OpInfo* FindOp(std::string_view name) {
  for (const OpInfo& op : kOps) {
    if (op.name == name) return &op;
  }
  return nullptr;
}

namespace {

using Value = std::variant<int64_t, double, bool, std::string>;

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::vector<std::string> Split(std::string_view text, char at) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t end = text.find(at);
    parts.emplace_back(Trim(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

template <class Number>
std::optional<Number> ReadNumber(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// "1/2" is 4, "1" is 8. Only what is whole eighths.
std::optional<int64_t> ReadEighths(std::string_view text) {
  const size_t slash = text.find('/');
  const auto above = ReadNumber<int64_t>(text.substr(0, slash));
  const auto below = slash == std::string_view::npos ? std::optional<int64_t>(1)
                                                     : ReadNumber<int64_t>(text.substr(slash + 1));
  if (!above || !below || *below < 1 || *below > 8 || *above < 1 || *above > *below) {
    return std::nullopt;
  }
  if (*above * 8 % *below != 0) return std::nullopt;
  return *above * 8 / *below;
}

std::string WantedArgument(const OpParameter& parameter) {
  const std::string span = NumberText(parameter.min) + " to " + NumberText(parameter.max);
  switch (parameter.type) {
    case OpArgumentType::kInteger:
      return "an integer from " + span;
    case OpArgumentType::kNumber:
      return "a number from " + span;
    case OpArgumentType::kFlag:
      return "true or false";
    case OpArgumentType::kWord:
      return QuotedList(Split(parameter.words, ' '));
    case OpArgumentType::kEighths:
      return "a number of eighths from 1/8 to 1/1";
  }
  return "";
}

std::optional<Value> ReadArgument(std::string_view text, const OpParameter& parameter) {
  switch (parameter.type) {
    case OpArgumentType::kInteger: {
      const auto number = ReadNumber<int64_t>(text);
      if (!number || static_cast<double>(*number) < parameter.min ||
          static_cast<double>(*number) > parameter.max) {
        return std::nullopt;
      }
      return *number;
    }
    case OpArgumentType::kNumber: {
      const auto number = ReadNumber<double>(text);
      if (!number || !(*number >= parameter.min && *number <= parameter.max)) return std::nullopt;
      return *number;
    }
    case OpArgumentType::kFlag:
      if (text != "true" && text != "false") return std::nullopt;
      return text == "true";
    case OpArgumentType::kWord:
      for (const std::string& word : Split(parameter.words, ' ')) {
        if (word == text) return word;
      }
      return std::nullopt;
    case OpArgumentType::kEighths: {
      const auto eighths = ReadEighths(text);
      if (!eighths) return std::nullopt;
      return *eighths;
    }
  }
  return std::nullopt;
}

std::string WriteArgument(const Value& value, const OpParameter& parameter) {
  switch (parameter.type) {
    case OpArgumentType::kInteger:
      return std::to_string(std::get<int64_t>(value));
    case OpArgumentType::kNumber:
      return NumberText(std::get<double>(value));
    case OpArgumentType::kFlag:
      return std::get<bool>(value) ? "true" : "false";
    case OpArgumentType::kWord:
      return std::get<std::string>(value);
    case OpArgumentType::kEighths: {
      int64_t above = std::get<int64_t>(value);
      int64_t below = 8;
      while (above % 2 == 0 && below > 1) {
        above /= 2;
        below /= 2;
      }
      return std::to_string(above) + '/' + std::to_string(below);
    }
  }
  return "";
}

// Fills in the arguments of one call.
class Arguments {
 public:
  Arguments(const OpInfo& op, std::string_view text)
      : op_(op), text_(text), given_(op.parameters.size()) {}

  Status Take(std::string_view argument) {
    const size_t equals = argument.find('=');
    const bool named = equals != std::string_view::npos;
    size_t index = next_++;
    if (named) {
      named_ = true;
      const std::string name(Trim(argument.substr(0, equals)));
      STALLSCOPE_ASSIGN_OR_RETURN(index, Find(name));
    } else if (named_) {
      return Bad("a positional argument follows a named one", "name it too");
    }
    if (index >= given_.size()) {
      return Bad(std::string(op_.name) + " takes " + std::to_string(given_.size()) + " arguments",
                 "leave out " + Quoted(argument));
    }
    const OpParameter& parameter = op_.parameters[index];
    const std::string_view value = named ? Trim(argument.substr(equals + 1)) : argument;
    if (given_[index].has_value()) {
      return Bad(std::string(parameter.name) + " is given twice", "keep one of them");
    }
    given_[index] = ReadArgument(value, parameter);
    if (given_[index].has_value()) return {};
    return Bad(
        std::string(parameter.name) + " of " + std::string(op_.name) + " is " + Quoted(value),
        "give " + WantedArgument(parameter));
  }

  Result<OpCall> Finish() {
    OpCall call{&op_, {}};
    for (size_t i = 0; i < given_.size(); ++i) {
      const OpParameter& parameter = op_.parameters[i];
      if (!given_[i].has_value() && !parameter.default_text.empty()) {
        given_[i] = ReadArgument(parameter.default_text, parameter);
      }
      if (!given_[i].has_value()) {
        return Bad(std::string(op_.name) + " needs its " + std::string(parameter.name),
                   "give " + WantedArgument(parameter) + ", as in " + std::string(op_.name) + '(' +
                       Example(parameter) + ')');
      }
      call.arguments.push_back(*std::move(given_[i]));
    }
    return call;
  }

 private:
  Error Bad(std::string what, std::string hint) const {
    return Error{ErrorKind::kUsage, std::move(what), std::string(text_), std::move(hint)};
  }

  Result<size_t> Find(const std::string& name) const {
    std::vector<std::string> known;
    for (size_t i = 0; i < op_.parameters.size(); ++i) {
      if (op_.parameters[i].name == name) return i;
      known.emplace_back(op_.parameters[i].name);
    }
    return Bad(std::string(op_.name) + " has no argument " + Quoted(name),
               known.empty() ? "it takes none" : NearestHint(name, known, "the nearest"));
  }

  static std::string Example(const OpParameter& parameter) {
    if (parameter.type == OpArgumentType::kWord) return Split(parameter.words, ' ').back();
    return parameter.max >= 64 ? "64" : NumberText(parameter.max);
  }

  const OpInfo& op_;
  std::string_view text_;
  std::vector<std::optional<Value>> given_;
  size_t next_ = 0;
  bool named_ = false;
};

const Value& ArgumentOf(const OpCall& call, std::string_view parameter) {
  size_t i = 0;
  while (i < call.arguments.size() && call.op->parameters[i].name != parameter) ++i;
  assert(i < call.arguments.size() && "the op has no such parameter");
  return call.arguments[i];
}

}  // namespace

int64_t OpCall::Integer(std::string_view parameter) const {
  return std::get<int64_t>(ArgumentOf(*this, parameter));
}
double OpCall::Number(std::string_view parameter) const {
  return std::get<double>(ArgumentOf(*this, parameter));
}
bool OpCall::Flag(std::string_view parameter) const {
  return std::get<bool>(ArgumentOf(*this, parameter));
}
const std::string& OpCall::Word(std::string_view parameter) const {
  return std::get<std::string>(ArgumentOf(*this, parameter));
}

std::string OpCall::Text() const {
  std::string list;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const OpParameter& parameter = op->parameters[i];
    const bool optional = !parameter.default_text.empty();
    if (optional && arguments[i] == ReadArgument(parameter.default_text, parameter)) continue;
    if (!list.empty()) list += ", ";
    if (optional) list += std::string(parameter.name) + '=';
    list += WriteArgument(arguments[i], parameter);
  }
  return std::string(op->name) + (list.empty() ? "" : '(' + list + ')');
}

Result<OpCall> ParseOp(std::string_view text) {
  const std::string_view call = Trim(text);
  const size_t bracket = call.find('(');
  const std::string name(Trim(call.substr(0, bracket)));
  const OpInfo* op = FindOp(name);
  if (op == nullptr) {
    std::vector<std::string> known;
    for (const OpInfo& candidate : KnownOps()) known.emplace_back(candidate.name);
    return Error{ErrorKind::kUsage, "unknown op " + Quoted(name), std::string(text),
                 NearestHint(name, known, "the nearest known op")};
  }
  Arguments arguments(*op, text);
  if (bracket != std::string_view::npos) {
    if (!call.ends_with(')')) {
      return Error{ErrorKind::kUsage, Quoted(call) + " is not a call", std::string(text),
                   "write it as " + name + "(...), with one closing parenthesis at the end"};
    }
    const std::string_view inside = Trim(call.substr(bracket + 1, call.size() - bracket - 2));
    if (!inside.empty()) {
      for (const std::string& argument : Split(inside, ',')) {
        STALLSCOPE_RETURN_IF_ERROR(arguments.Take(argument));
      }
    }
  }
  return arguments.Finish();
}

std::vector<OpCall> OpsOf(const MapSpec& map) {
  std::vector<OpCall> ops;
  for (const std::string& text : map.ops) {
    Result<OpCall> call = ParseOp(text);
    if (call.ok()) ops.push_back(std::move(call).value());
  }
  return ops;
}

bool IsRandom(const MapSpec& map) {
  const std::vector<OpCall> ops = OpsOf(map);
  return std::any_of(ops.begin(), ops.end(), [](const OpCall& op) { return op.op->random; });
}

bool IsDecode(const OpCall& op) { return op.name() == "decode_jpeg" || op.name() == "decode_png"; }

bool IsWholeDecode(const OpCall& op) { return op.name() == "decode_jpeg" && !op.Flag("crop"); }

bool IsCrop(const OpCall& op) { return op.name() == "crop" || op.name() == "random_resized_crop"; }

bool MakesOneSize(const OpCall& op) { return op.name() == "resize" || IsCrop(op); }

namespace {

// value * by + offset in float32, whatever the type of its input.
bool ComputesFloats(const OpCall& op) { return op.name() == "normalize" || op.name() == "scale"; }

}  // namespace

bool Widens(const OpCall& op) {
  if (ComputesFloats(op)) return true;
  return op.name() == "cast" && op.Word("dtype") != "uint8";
}

bool MovesOnly(const OpCall& op) { return op.name() == "flip" || op.name() == "crop"; }

bool IsPerValue(const OpCall& op) {
  return ComputesFloats(op) || op.name() == "cast" || op.name() == "one_hot";
}

bool WritesInPlace(const OpCall& op) { return op.name() == "normalize" || op.name() == "cast"; }

bool StatesItsCost(const OpCall& op) { return op.name() == "busy" || op.name() == "sleep"; }

namespace {

// True if bytes stay bytes.
bool KeepsBytes(const OpCall& op) {
  return IsDecode(op) || MakesOneSize(op) || MovesOnly(op) || op.name() == "color_jitter";
}

bool IsCastTo(const OpCall& op, std::string_view dtype) {
  return op.name() == "cast" && op.Word("dtype") == dtype;
}

// `bytes`: the first of the two gets decoded pixels.
bool FirstIsIdle(const OpCall& first, const OpCall& second, bool bytes) {
  if (first.name() != "cast") return false;
  const bool converts = second.name() == "cast" || ComputesFloats(second);
  if (bytes && converts) return true;
  if (ComputesFloats(second)) return IsCastTo(first, "float32");
  return second.name() == "cast" && second.Word("dtype") == first.Word("dtype");
}

bool SecondIsIdle(const OpCall& first, const OpCall& second, bool bytes) {
  if (ComputesFloats(first)) return IsCastTo(second, "float32");
  if (first.name() == "one_hot") return first == second;
  if (bytes && KeepsBytes(first) && IsCastTo(second, "uint8")) return true;
  // Scaling needs bytes; another type is an error that must not go unnoticed.
  const bool same_size = second.name() == "crop" || (second.name() == "resize" && bytes);
  return same_size && MakesOneSize(first) && first.Integer("size") == second.Integer("size");
}

// For each op whether it gets decoded pixels, as bytes.
std::vector<bool> GetsBytes(const std::vector<OpCall>& ops) {
  std::vector<bool> gets;
  bool bytes = false;
  for (const OpCall& op : ops) {
    gets.push_back(bytes);
    bytes = IsDecode(op) || (bytes && KeepsBytes(op));
  }
  return gets;
}

// Multiplying by it rounds nothing, and changes no rounding of what follows.
bool IsExactFactor(double by) {
  int exponent = 0;
  constexpr int kMostBits = 20;  // far from where a float32 over- or underflows
  return std::fabs(std::frexp(by, &exponent)) == 0.5 && std::abs(exponent) <= kMostBits;
}

float Scaled(float value, const OpCall& scale) {
  return value * static_cast<float>(scale.Number("by")) +
         static_cast<float>(scale.Number("offset"));
}

bool GiveSameOfBytes(const OpCall& first, const OpCall& second, const OpCall& both) {
  for (int value = 0; value < 256; ++value) {
    const auto in = static_cast<float>(value);
    if (Scaled(Scaled(in, first), second) != Scaled(in, both)) return false;
  }
  return true;
}

}  // namespace

std::optional<IdleOp> FindIdleOp(const std::vector<OpCall>& ops) {
  const std::vector<bool> gets_bytes = GetsBytes(ops);
  for (size_t i = 0; i + 1 < ops.size(); ++i) {
    if (FirstIsIdle(ops[i], ops[i + 1], gets_bytes[i])) return IdleOp{i, i + 1};
    if (SecondIsIdle(ops[i], ops[i + 1], gets_bytes[i + 1])) return IdleOp{i + 1, i};
  }
  return std::nullopt;
}

std::optional<FoldedPair> FindFoldedPair(const std::vector<OpCall>& ops) {
  const std::vector<bool> gets_bytes = GetsBytes(ops);
  for (size_t i = 0; i + 1 < ops.size(); ++i) {
    const OpCall& first = ops[i];
    const OpCall& second = ops[i + 1];
    if (first.name() != "scale" || !ComputesFloats(second)) continue;
    const double by = first.Number("by") * second.Number("by");
    const double offset = first.Number("offset") * second.Number("by") + second.Number("offset");
    if (std::fabs(by) > kLargestFactor || std::fabs(offset) > kLargestFactor) continue;
    FoldedPair folded{i, second};
    folded.as.arguments = {by, offset};
    const bool exact = first.Number("offset") == 0 && IsExactFactor(first.Number("by"));
    const bool of_bytes =
        second.name() == "scale" && gets_bytes[i] && GiveSameOfBytes(first, second, folded.as);
    if (exact || of_bytes) return folded;
  }
  return std::nullopt;
}

}  // namespace stallscope
