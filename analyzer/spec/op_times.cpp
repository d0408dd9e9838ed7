#include "analyzer/spec/op_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace stallscope {
namespace {

// JPEGs of photographs at quality 90 have 0.3 to 0.6 bytes per pixel.
constexpr double kJpegBytesPerPixel = 0.42;
constexpr double kPngBytesPerPixel = 1.8;
constexpr double kCsvBytesPerPixel = 11;  // three values of one to three digits, and commas

// The part of a picture that random_resized_crop keeps on average: an area drawn from 8% to 100%.
constexpr double kRandomArea = 0.54;
constexpr double kRandomSide = 0.72;  // of a side: mean of the area's root

// ns = call + read * pixels before + written * pixels after, of three bytes each; of wider values
// `wide` times that.
struct Row {
  std::string_view name;
  double call;
  double read;
  double written;
  double wide;
  double error;
};

// resize: measured on one core of a 3.2 GHz x86-64 machine with libyuv (500x375 pixels to 224x224);
// color_jitter: of 160x160 pixels, on that scale. The others are estimates from the memory that
// they pass over and from their inner loops.
constexpr std::array kRows = {
    Row{"parse_example", 1'000, 0, 0, 1, 0.5},
    Row{"decode_png", 5'000, 0, 12, 1, 0.5},
    Row{"decode_csv", 1'000, 0, 15, 1, 0.5},
    Row{"resize", 1'000, 0.25, 1.0, 1, 0.3},
    Row{"crop", 300, 0, 0.2, 4, 0.5},
    Row{"random_resized_crop", 1'000, 0.25 * kRandomArea, 1.0, 1, 0.3},
    // Half of the pictures are mirrored.
    Row{"flip", 100, 0.1, 0, 30, 0.5},
    Row{"color_jitter", 500, 6, 0, 1, 0.4},
    Row{"one_hot", 300, 0, 0, 1, 1},
};

// --- Decoding, measured with libjpeg-turbo on the same core and picture, at quality 90. 70% of it
// is the entropy decoding, which every picture needs as far as its last line that is kept; the rest
// is for the pixels that come out.
constexpr double kEntropyNs = 3.15;  // per pixel of the file
constexpr double kPixelNs = 1.37;    // per pixel made
constexpr double kDecodeCall = 5'000;
constexpr double kDecodeError = 0.15;
// Of a decode that crops: lines come singly, and a part of a line comes in whole blocks, with one
// more on each side.
constexpr double kCroppedPixelNs = 1.47 * kPixelNs;
constexpr double kCropMargin = 32;  // pixels
constexpr double kCropError = 0.25;
// The transforms of these sizes have fast code; others take as long as the whole.
double LeftOfPixels(int64_t eighths) {
  if (eighths == 4) return 0.4;
  if (eighths == 2) return 0.15;
  if (eighths == 1) return 0.05;
  return 1;
}

// --- Values: memory and the type decide. Measured of 160x160 pixels, on the same scale.
constexpr double kByteNs = 0.025;            // per byte read or written
constexpr double kWholeBatchByteNs = 0.033;  // of a batch, which no core's cache holds
// More for each value that becomes a float16, or was one: an estimate.
constexpr double kHalfNs = 0.6;
constexpr double kValueCall = 300;
constexpr double kValueError = 0.5;
constexpr double kCopyCall = 60;
constexpr double kCopyByteNs = 0.03;

// --- Records of 1 to 800 KB from the page cache: record files, raw tensors and snapshots took 2 us
// and 0.35 to 0.45 ns per byte on that core, of which a machine's memory decides most.
constexpr double kReadCall = 2'000;
constexpr double kReadByteNs = 0.4;
constexpr double kReadError = 1;

double BytesOf(const std::string& dtype) {
  return dtype == "uint8" ? 1 : dtype == "float16" ? 2 : 4;
}

UsualTime ValueTime(std::string what, const SampleForm& before, const SampleForm& after,
                    bool whole) {
  const double moved = before.bytes() + after.bytes();
  const bool halves = before.value_bytes == 2 || after.value_bytes == 2;
  const double values = after.bytes() / after.value_bytes;
  double ns = moved * (whole ? kWholeBatchByteNs : kByteNs) + (halves ? kHalfNs * values : 0);
  if (!whole) ns += kValueCall;
  return {fmt::format("{} of {:.0f} bytes", what, before.bytes()), ns, kValueError};
}

// The pair is one op where the decode knows of the crop: its picture is what the crop keeps.
UsualTime DecodeTime(const OpCall& op, const OpCall* crop, SampleForm& form) {
  const int64_t eighths = op.Integer("scale");
  const double whole = UsualPixels(form.file_bytes);
  const double scale = static_cast<double>(eighths) / 8;
  form.pixels = whole * scale * scale;
  form.decoded = true;
  form.value_bytes = 1;
  UsualTime time{op.Text(), kDecodeCall, kDecodeError};
  double lines = 1;  // of the picture, that are decoded
  double pixel_ns = kPixelNs * LeftOfPixels(eighths) * whole;
  if (crop != nullptr) {
    time.what += ", " + crop->Text();
    time.error = kCropError;
    const auto size = static_cast<double>(crop->Integer("size"));
    const bool random = crop->name() == "random_resized_crop";
    const double all = std::max(1.0, form.pixels);
    const double side = random ? kRandomSide * std::sqrt(all) : std::min(size, std::sqrt(all));
    form.pixels = random ? kRandomArea * all : size * size;
    lines = (1 + side / std::sqrt(all)) / 2;
    const double made = std::min(all, form.pixels + side * kCropMargin);
    pixel_ns = kCroppedPixelNs * LeftOfPixels(eighths) * whole * made / all;
  }
  time.ns += whole * kEntropyNs * lines + pixel_ns;
  return time;
}

// Of what changes no type; the new size, if it has one.
std::optional<UsualTime> RowTime(const OpCall& op, SampleForm& form) {
  const auto row = std::find_if(kRows.begin(), kRows.end(),
                                [&](const Row& known) { return known.name == op.name(); });
  if (row == kRows.end()) return std::nullopt;
  const double before = form.pixels;
  if (MakesOneSize(op)) {
    const auto side = static_cast<double>(op.Integer("size"));
    form.pixels = side * side;
  } else if (op.name() == "decode_png" || op.name() == "decode_csv") {
    form.pixels =
        form.file_bytes / (op.name() == "decode_png" ? kPngBytesPerPixel : kCsvBytesPerPixel);
    form.decoded = true;
    form.value_bytes = 1;
  }
  const bool wider = form.decoded && form.value_bytes > 1;
  const double wide = wider ? row->wide * form.value_bytes / 4 : 1;
  // How well the compiler moves wide pixels is the least certain.
  return UsualTime{
      fmt::format("{} of {:.0f} pixels of {:.0f}", op.Text(), before, form.value_bytes),
      row->call + (row->read * before + row->written * form.pixels) * wide,
      row->error * (wider ? 3 : 1)};
}

// Ops that compute values by themselves, in another type or the same.
std::optional<UsualTime> TypeTime(const OpCall& op, bool whole, SampleForm& form) {
  const bool casts = op.name() == "cast";
  if (!casts && op.name() != "normalize" && op.name() != "scale") return std::nullopt;
  const SampleForm before = form;
  // Undecoded values are bytes.
  form.pixels = form.bytes() / 3 / (form.decoded ? form.value_bytes : 1);
  form.decoded = true;
  form.value_bytes = casts ? BytesOf(op.Word("dtype")) : 4;
  if (casts && before.decoded && before.value_bytes == form.value_bytes) {
    return UsualTime{op.Text() + " to the same", 50, kValueError};
  }
  UsualTime time = ValueTime(op.Text(), before, form, whole);
  // In place, after a pass that widens.
  if (op.name() == "scale" && before.value_bytes < 4) time.ns += 2 * form.bytes() * kByteNs;
  return time;
}

}  // namespace

SampleForm FormRead(SourceFormat format, double bytes) {
  const bool pixels = format == SourceFormat::kRaw || format == SourceFormat::kHdf5;
  SampleForm form{.file_bytes = bytes, .decoded = pixels};
  if (pixels) form.pixels = bytes / 3;
  return form;
}

std::optional<SampleForm> FormConverted(SourceFormat from, double bytes, SourceFormat to) {
  // Encoded pictures stay as they are.
  const bool encoded = from == SourceFormat::kImages || from == SourceFormat::kTfrecord;
  if (encoded && to == SourceFormat::kTfrecord) return FormRead(to, bytes);
  if (to != SourceFormat::kRaw) return std::nullopt;
  if (from == SourceFormat::kHdf5 || from == SourceFormat::kRaw) return FormRead(to, bytes);
  if (from != SourceFormat::kCsv) return std::nullopt;
  SampleForm form = FormRead(to, bytes);
  form.pixels = bytes / kCsvBytesPerPixel;
  form.file_bytes = form.bytes();
  return form;
}

UsualTime UsualRead(double bytes) {
  return {"reading records", kReadCall + bytes * kReadByteNs, kReadError};
}

double UsualPixels(double jpeg_bytes) { return jpeg_bytes / kJpegBytesPerPixel; }

UsualTime UsualCopy(double bytes) {
  return {"a copy", kCopyCall + bytes * kCopyByteNs, kValueError};
}

UsualTime UsualConversion(const SampleForm& form, double value_bytes) {
  SampleForm after = form;
  after.value_bytes = value_bytes;
  return ValueTime(fmt::format("conversion to {:.0f}", value_bytes), form, after, true);
}

std::optional<std::vector<UsualTime>> UsualTimesOf(std::span<const OpCall> ops, bool whole,
                                                   SampleForm& form) {
  std::vector<UsualTime> times;
  for (size_t i = 0; i < ops.size(); ++i) {
    const OpCall& op = ops[i];
    if (StatesItsCost(op)) continue;
    // Of a picture of unknown size nothing is usual.
    if (IsDecode(op) && form.file_bytes <= 0) return std::nullopt;
    if (op.name() == "decode_jpeg") {
      const bool pair = op.Flag("crop") && i + 1 < ops.size() && IsCrop(ops[i + 1]);
      times.push_back(DecodeTime(op, pair ? &ops[i + 1] : nullptr, form));
      if (!pair) continue;
      ++i;
      if (ops[i].name() == "random_resized_crop") {
        OpCall resize = ops[i];
        resize.op = FindOp("resize");
        times.push_back(*RowTime(resize, form));
      }
      continue;
    }
    std::optional<UsualTime> time = TypeTime(op, whole, form);
    if (!time.has_value()) time = RowTime(op, form);
    if (!time.has_value()) return std::nullopt;
    times.push_back(*std::move(time));
  }
  return times;
}

}  // namespace stallscope
