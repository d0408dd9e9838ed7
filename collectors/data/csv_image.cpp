#include "collectors/data/csv_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace stallscope::data {
namespace {

Error BadColumn(size_t column, std::string_view text, const char* wanted) {
  const size_t end = std::min<size_t>(text.find(','), 20);
  return Error{ErrorKind::kRun,
               fmt::format("column {} is '{}', not {}", column, text.substr(0, end), wanted), "",
               "a row is label,height,width,pixels or label,pixels"};
}

// The integer at the start of `text`; skips it and the comma after it.
std::optional<int64_t> TakeInteger(std::string_view& text) {
  int64_t value;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  const auto taken = static_cast<size_t>(end - text.data());
  if (taken < text.size() && text[taken] != ',') return std::nullopt;
  text.remove_prefix(std::min(taken + 1, text.size()));
  return value;
}

// Reads `count` values of 0 to 255 from `text`. Returns how many were valid.
size_t TakePixels(std::string_view text, uint8_t* to, size_t count) {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (size_t i = 0; i < count; ++i) {
    unsigned value = 0;
    const char* const begin = at;
    while (at < end && at - begin < 4 && *at >= '0' && *at <= '9') {
      value = value * 10 + static_cast<unsigned>(*at++ - '0');
    }
    if (at == begin || value > 255 || (at < end && *at != ',')) return i;
    to[i] = static_cast<uint8_t>(value);
    if (at < end) ++at;
  }
  return count;
}

int64_t SquareRoot(uint64_t square) {
  const auto root = static_cast<uint64_t>(std::llround(std::sqrt(static_cast<double>(square))));
  return root * root == square ? static_cast<int64_t>(root) : 0;
}

struct Layout {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 3;
  size_t first_pixel = 1;  // its column, from 0
};

// What the number of columns, and the second and third of them, make of the row.
std::optional<Layout> LayoutOf(std::string_view behind_label, size_t columns) {
  std::string_view rest = behind_label;
  const auto height = TakeInteger(rest);
  const auto width = height.has_value() ? TakeInteger(rest) : std::nullopt;
  if (width.has_value() && *height > 0 && *width > 0 && *height < 1'000'000 && *width < 1'000'000 &&
      static_cast<uint64_t>(*height * *width) * 3 + 3 == columns) {
    return Layout{*height, *width, 3, 3};
  }
  const uint64_t values = columns - 1;
  if (values == 0) return std::nullopt;
  if (const int64_t side = SquareRoot(values); side > 0) return Layout{side, side, 1, 1};
  if (const int64_t side = SquareRoot(values / 3); side > 0 && values % 3 == 0) {
    return Layout{side, side, 3, 1};
  }
  return std::nullopt;
}

}  // namespace

Result<int64_t> DecodeCsvImage(std::string_view row, Tensor& into) {
  std::string_view rest = row;
  const auto label = TakeInteger(rest);
  if (!label.has_value()) return BadColumn(1, row, "a label");
  const size_t columns = static_cast<size_t>(std::count(row.begin(), row.end(), ',')) + 1;
  const auto layout = LayoutOf(rest, columns);
  if (!layout.has_value()) {
    return Error{ErrorKind::kRun, fmt::format("a row of {} columns is not an image", columns), "",
                 "a row is label,height,width,pixels or label,pixels"};
  }
  if (layout->first_pixel == 3) {
    TakeInteger(rest);
    TakeInteger(rest);
  }
  const auto values = static_cast<size_t>(layout->height * layout->width * layout->channels);
  if (!into.TryReset(DType::kUint8, {layout->height, layout->width, 3})) {
    return Error{ErrorKind::kRun, "out of memory for the image", "", ""};
  }
  // Gray values are read into the last third, and spread from the front.
  uint8_t* const to = into.data() + (into.bytes() - values);
  const size_t good = TakePixels(rest, to, values);
  if (good < values) {
    for (size_t i = 0; i < good; ++i) rest.remove_prefix(rest.find(',') + 1);
    return BadColumn(layout->first_pixel + good + 1, rest, "a pixel (0 to 255)");
  }
  if (layout->channels == 1) {
    for (size_t i = 0; i < values; ++i) std::fill_n(into.data() + 3 * i, 3, to[i]);
  }
  return *label;
}

void AppendCsvImage(int64_t label, const Tensor& image, Buffer& into) {
  struct Digits {
    std::array<char, 4> text;  // with the comma in front
    uint8_t size;
  };
  static const std::array<Digits, 256> kDigits = [] {
    std::array<Digits, 256> all{};
    for (unsigned value = 0; value < 256; ++value) {
      all[value].text[0] = ',';
      const auto end = std::to_chars(all[value].text.data() + 1, all[value].text.data() + 4, value);
      all[value].size = static_cast<uint8_t>(end.ptr - all[value].text.data());
    }
    return all;
  }();
  const std::string front = fmt::format("{},{},{}", label, image.shape()[0], image.shape()[1]);
  into.Append(AsBytes(front));
  const size_t begin = into.size();
  into.Resize(begin + image.bytes() * 4 + 1);
  uint8_t* at = into.data() + begin;
  for (const uint8_t pixel : image.view()) {
    const Digits& digits = kDigits[pixel];
    std::copy_n(digits.text.data(), 4, at);
    at += digits.size;
  }
  *at++ = '\n';
  into.Resize(static_cast<size_t>(at - into.data()));
}

std::string CsvImageHeader(int64_t height, int64_t width) {
  std::string header = "label,height,width";
  for (int64_t i = 0; i < height * width * 3; ++i) header += fmt::format(",p{}", i);
  return header + "\n";
}

}  // namespace stallscope::data
