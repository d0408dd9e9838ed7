#include <array>

#include "analyzer/spec/ops.h"

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
constexpr std::array kClasses = {OpParameter{"classes", Type::kInteger, 1, 1'000'000, "", ""}};
constexpr std::array kCost = {
    OpParameter{"us", Type::kNumber, 0, kLongestUs, "", ""},
    OpParameter{"every", Type::kInteger, 1, 1e12, "", "1"},
};
constexpr std::array kEvery = {OpParameter{"n", Type::kInteger, 1, 1e12, "", ""}};
constexpr std::array kProbability = {OpParameter{"p", Type::kNumber, 0, 1, "", ""}};
constexpr std::array kBytes = {OpParameter{"bytes", Type::kInteger, 0, 1e12, "", ""}};
constexpr std::span<const OpParameter> kNothing;

// name, role, on_device, random, parameters, doc
constexpr std::array kOps = {
    OpInfo{"parse_example", OpRole::kMap, false, false, kNothing,
           "takes the features out of a tf.train.Example"},
    OpInfo{"decode_jpeg", OpRole::kMap, false, false, kDecodeJpeg,
           "JPEG to pixels; scale: 1/8 to 1/1 of the size; crop: only what a later crop keeps"},
    OpInfo{"decode_png", OpRole::kMap, false, false, kNothing, "PNG to pixels"},
    OpInfo{"decode_csv", OpRole::kMap, false, false, kNothing, "a CSV line to its values"},
    OpInfo{"resize", OpRole::kMap, true, false, kSide, "to a square of this side"},
    OpInfo{"crop", OpRole::kMap, true, false, kSide, "the middle square of this side"},
    OpInfo{"random_resized_crop", OpRole::kMap, true, true, kSide,
           "a random region, resized to a square of this side"},
    OpInfo{"flip", OpRole::kMap, true, true, kNothing, "left to right, every other time by chance"},
    OpInfo{"color_jitter", OpRole::kMap, true, true, kNothing,
           "changes brightness, contrast and saturation by chance"},
    OpInfo{"normalize", OpRole::kMap, true, false, kNothing,
           "to mean 0 and deviation 1, as float32"},
    OpInfo{"cast", OpRole::kMap, true, false, kCast, "to another type"},
    OpInfo{"one_hot", OpRole::kMap, true, false, kClasses, "the label to a vector of so many"},
    OpInfo{"busy", OpRole::kEither, false, false, kCost,
           "burns CPU for so many microseconds an element; every: for one element in so many only"},
    OpInfo{"sleep", OpRole::kEither, false, false, kCost,
           "waits for so many microseconds an element, without burning; every: for one element in "
           "so many only"},
    OpInfo{"keep_one_in", OpRole::kFilter, false, false, kEvery,
           "keeps the first of every n elements"},
    OpInfo{"keep_fraction", OpRole::kFilter, false, true, kProbability,
           "keeps an element with this probability"},
    OpInfo{"min_bytes", OpRole::kFilter, false, false, kBytes,
           "keeps elements of at least this size"},
    OpInfo{"label_below", OpRole::kFilter, false, false, kClasses,
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

}  // namespace stallscope
