// From bytes to values: records, JPEG, PNG, rows of CSV.
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "collectors/data/csv_image.h"
#include "collectors/data/png.h"
#include "collectors/pipeline/ops/make.h"

namespace stallscope::pipeline {
namespace {

// Null where the record has none of the names. With a key of the spec's, that one only.
const data::FeatureView* FindFeature(const data::ExampleView& example, const FeatureKeys& keys,
                                     const char* name, std::span<const std::string_view> usual) {
  if (const auto key = keys.find(name); key != keys.end()) return example.Find(key->second);
  return example.FindAny(usual);
}

Error NoFeature(const data::ExampleView& example, const FeatureKeys& keys, const char* name) {
  std::string names;
  for (const data::FeatureView& feature : example.features()) {
    names += (names.empty() ? "" : ", ") + std::string(feature.name.substr(0, 40));
    if (names.size() > 120) break;
  }
  const auto key = keys.find(name);
  return Error{ErrorKind::kRun,
               key != keys.end()
                   ? fmt::format("the record has no feature '{}'", key->second)
                   : fmt::format("the record has none of the usual {} features", name),
               "", fmt::format("name it in the source's features; the record has: {}", names)};
}

Error WrongContent(const Element& element, std::string_view op, std::string_view wanted) {
  constexpr std::array<std::string_view, 4> kNames = {"a record", "an image file", "a line of CSV",
                                                      "values"};
  return Error{
      ErrorKind::kRun,
      fmt::format("{} needs {}, not {}", op, wanted, kNames[static_cast<size_t>(element.content)]),
      "", "change the map's ops or the source's format"};
}

// The record's class; `otherwise` where it has none.
Result<int64_t> LabelIn(const data::ExampleView& example, const FeatureKeys& keys,
                        int64_t otherwise) {
  const auto* label = FindFeature(example, keys, "label", data::kLabelFeatures);
  if (label == nullptr || label->kind != data::FeatureKind::kInt64) return otherwise;
  return data::OneInt64(*label);
}

// Of a record that is an Example. Sets the label where it has one.
Result<data::ByteView> BytesFeature(Element& element, const FeatureKeys& keys, const char* name,
                                    std::span<const std::string_view> usual, OpWorker& worker) {
  STALLSCOPE_RETURN_IF_ERROR(worker.example.Reset(element.value.view()));
  const data::FeatureView* const found = FindFeature(worker.example, keys, name, usual);
  if (found == nullptr) return NoFeature(worker.example, keys, name);
  STALLSCOPE_ASSIGN_OR_RETURN(element.label, LabelIn(worker.example, keys, element.label));
  return data::OneBytes(*found);
}

// Leaves only these bytes of the element's value, which they are a part of.
void KeepBytes(Element& element, data::ByteView bytes) {
  std::memmove(element.value.data(), bytes.data(), bytes.size());
  element.value.Reset(data::DType::kUint8, {static_cast<int64_t>(bytes.size())});
}

class ParseExample final : public Op {
 public:
  explicit ParseExample(FeatureKeys keys) : keys_(std::move(keys)) {}
  Status Apply(Element& element, OpWorker& worker) const override {
    if (element.content != Content::kRecord) {
      return WrongContent(element, "parse_example", "a record");
    }
    STALLSCOPE_ASSIGN_OR_RETURN(const data::ByteView image, EncodedImage(element, keys_, worker));
    KeepBytes(element, image);
    element.content = Content::kEncoded;
    return {};
  }

 private:
  const FeatureKeys keys_;
};

class DecodeImage final : public Op {
 public:
  DecodeImage(OpInstance call, FeatureKeys keys, std::optional<CropPlan> crop)
      : name_(call.call.name()),
        scale_(name_ == "decode_jpeg" ? static_cast<int>(call.call.Integer("scale")) : 8),
        keys_(std::move(keys)),
        crop_(std::move(crop)) {}

  Status Apply(Element& element, OpWorker& worker) const override {
    if (element.content == Content::kTensor || element.content == Content::kRow) {
      return WrongContent(element, name_, "a record or an image file");
    }
    STALLSCOPE_ASSIGN_OR_RETURN(const data::ByteView image, EncodedImage(element, keys_, worker));
    STALLSCOPE_ASSIGN_OR_RETURN(data::Tensor pixels, data::LooksLikePng(image)
                                                         ? Png(element, image, worker)
                                                         : Jpeg(element, image, worker));
    if (crop_.has_value() && crop_->resizes()) {
      const int side = static_cast<int>(crop_->side());
      STALLSCOPE_ASSIGN_OR_RETURN(data::Tensor square,
                                  worker.NewTensor(data::DType::kUint8, {side, side, 3}));
      STALLSCOPE_RETURN_IF_ERROR(worker.resizer.Resize(
          pixels, {0, 0, static_cast<int>(pixels.shape()[1]), static_cast<int>(pixels.shape()[0])},
          side, side, square));
      worker.context.elements.Give(std::move(pixels));
      pixels = std::move(square);
    }
    worker.Replace(element, std::move(pixels));
    return {};
  }

 private:
  Result<data::Tensor> Jpeg(const Element& element, data::ByteView image, OpWorker& worker) const {
    STALLSCOPE_ASSIGN_OR_RETURN(const data::JpegHeader header, data::ReadJpegHeader(image));
    if (header.turned()) {
      worker.context.ledger.Note(
          fmt::format("EXIF orientation ({}) is not applied; first seen in {}", header.orientation,
                      element.file ? *element.file : "the data"));
    }
    data::JpegDecodeOptions options;
    options.scale = scale_;
    // Before memory is spent on what the header claims.
    STALLSCOPE_RETURN_IF_ERROR(
        data::CheckImageSize("the JPEG", header.width, header.height, options.limits));
    data::Rect part{0, 0, data::ScaledDimension(header.width, scale_),
                    data::ScaledDimension(header.height, scale_)};
    if (crop_.has_value()) {
      STALLSCOPE_ASSIGN_OR_RETURN(
          part, crop_->Of(element.id, worker.context.seed, part.width, part.height));
      options.crop = part;
    }
    STALLSCOPE_ASSIGN_OR_RETURN(
        data::Tensor pixels, worker.NewTensor(data::DType::kUint8, {part.height, part.width, 3}));
    auto decoded = worker.jpeg.Decode(image, options, pixels);
    if (!decoded.ok()) return std::move(decoded).error();
    return pixels;
  }

  // PNG has neither scaling nor regions: decode the whole image, then cut the region.
  Result<data::Tensor> Png(const Element& element, data::ByteView image, OpWorker& worker) const {
    STALLSCOPE_ASSIGN_OR_RETURN(const data::PngHeader header, data::ReadPngHeader(image));
    const data::ImageLimits limits;
    STALLSCOPE_RETURN_IF_ERROR(
        data::CheckImageSize("the PNG", header.width, header.height, limits));
    STALLSCOPE_ASSIGN_OR_RETURN(
        data::Tensor pixels,
        worker.NewTensor(data::DType::kUint8, {header.height, header.width, 3}));
    STALLSCOPE_RETURN_IF_ERROR(data::DecodePng(image, limits, pixels));
    if (!crop_.has_value()) return pixels;
    STALLSCOPE_ASSIGN_OR_RETURN(const data::Rect part, crop_->Of(element.id, worker.context.seed,
                                                                 static_cast<int>(header.width),
                                                                 static_cast<int>(header.height)));
    STALLSCOPE_ASSIGN_OR_RETURN(
        data::Tensor cut, worker.NewTensor(data::DType::kUint8, {part.height, part.width, 3}));
    STALLSCOPE_RETURN_IF_ERROR(data::Crop(pixels, part, cut));
    worker.context.elements.Give(std::move(pixels));
    return cut;
  }

  const std::string name_;
  const int scale_;
  const FeatureKeys keys_;
  const std::optional<CropPlan> crop_;
};

class DecodeCsv final : public Op {
 public:
  Status Apply(Element& element, OpWorker& worker) const override {
    if (element.content != Content::kRow) {
      return WrongContent(element, "decode_csv", "a line of CSV");
    }
    // A row's values are never more than its characters.
    STALLSCOPE_ASSIGN_OR_RETURN(
        data::Tensor pixels,
        worker.NewTensor(data::DType::kUint8, {static_cast<int64_t>(element.value.bytes()) * 3}));
    STALLSCOPE_ASSIGN_OR_RETURN(
        element.label,
        data::DecodeCsvImage(data::AsText({element.value.data(), element.value.bytes()}), pixels));
    worker.Replace(element, std::move(pixels));
    return {};
  }
};

}  // namespace

Result<data::ByteView> EncodedImage(Element& element, const FeatureKeys& keys, OpWorker& worker) {
  const data::ByteView bytes = element.value.view();
  if (element.content == Content::kEncoded) return bytes;
  // A record may be the image itself, without an Example around it.
  if (data::LooksLikeJpeg(bytes) || data::LooksLikePng(bytes)) return bytes;
  return BytesFeature(element, keys, "image", data::kImageFeatures, worker);
}

Result<int64_t> LabelOf(const Element& element, const FeatureKeys& keys, OpWorker& worker) {
  const data::ByteView bytes = element.value.view();
  const bool image = data::LooksLikeJpeg(bytes) || data::LooksLikePng(bytes);
  if (element.content != Content::kRecord || image) return element.label;
  STALLSCOPE_RETURN_IF_ERROR(worker.example.Reset(bytes));
  return LabelIn(worker.example, keys, element.label);
}

Result<data::ByteView> TextOf(Element& element, std::string_view op, const FeatureKeys& keys,
                              OpWorker& worker) {
  if (element.content != Content::kRecord) {
    return WrongContent(element, op, "a record with a text");
  }
  return BytesFeature(element, keys, "text", data::kTextFeatures, worker);
}

OpPtr MakeDecodeOp(const OpInstance& call, const OpInstance* next, const FeatureKeys& keys,
                   bool& took_next) {
  const std::string_view name = call.call.name();
  if (name == "parse_example") return std::make_unique<ParseExample>(keys);
  if (name == "decode_csv") return std::make_unique<DecodeCsv>();
  if (name == "decode_png") return std::make_unique<DecodeImage>(call, keys, std::nullopt);
  if (name != "decode_jpeg") return nullptr;
  std::optional<CropPlan> crop;
  if (call.call.Flag("crop") && next != nullptr && IsCrop(*next)) {
    crop = CropPlan{*next};
    took_next = true;
  }
  return std::make_unique<DecodeImage>(call, keys, std::move(crop));
}

}  // namespace stallscope::pipeline
