#include "gui/views/lane_strip.h"

#include <algorithm>
#include <cmath>

namespace stallscope::views {
namespace {

using viewmodel::LaneRow;
using viewmodel::Paint;
using viewmodel::SeriesTexel;
using viewmodel::Texel;

// A lane of spans has an upper and a lower part: work fills both, a wait only the lower one, so
// that their shapes differ.
constexpr int kSpanRows = 2;
constexpr float kUpperPart = 0.6f;
// Even a thousandth of a column must stay visible.
constexpr float kFaintest = 0.22f;

bool IsSeries(const LaneRow& row) { return !row.series.empty(); }

// For a series, one texel per pixel.
int SeriesRows(const LaneRow& row, float line) {
  return std::clamp(static_cast<int>(row.height * line) - 1, 1, 128);
}

int RowsOf(const LaneRow& row, float line) {
  return IsSeries(row) ? SeriesRows(row, line) : kSpanRows;
}

void FillSpans(const LaneRow& row, int width, const Look& look, ImU32* upper) {
  ImU32* lower = upper + width;
  const auto columns = std::min(static_cast<size_t>(width), row.texels.size());
  std::fill(upper, lower + width, look.colors.lane);
  for (size_t x = 0; x < columns; ++x) {
    const Texel& texel = row.texels[x];
    if (texel.busy == 0 || texel.paint == Paint::kNothing) continue;
    const float part = kFaintest + (1 - kFaintest) * static_cast<float>(texel.busy) / 255;
    const ImU32 color = Mixed(look.colors.lane, look.Of(texel.paint), part);
    lower[x] = color;
    if (!viewmodel::IsWait(texel.paint)) upper[x] = color;
  }
}

void FillSeries(const LaneRow& row, int width, int height, const Look& look, ImU32* pixels) {
  const Paint paint =
      row.kind == viewmodel::LaneKind::kQueue ? Paint::kQueueDepth : Paint::kCounter;
  const ImU32 strong = look.Of(paint);
  const ImU32 area = Mixed(look.colors.lane, strong, 0.45f);
  std::fill(pixels, pixels + static_cast<ptrdiff_t>(width) * height, look.colors.lane);
  const auto columns = std::min(static_cast<size_t>(width), row.series.size());
  for (size_t x = 0; x < columns; ++x) {
    const SeriesTexel& texel = row.series[x];
    if (!texel.known) continue;
    const auto level = [&](float value) {
      return height - static_cast<int>(std::lround(std::clamp(value, 0.0f, 1.0f) *
                                                   static_cast<float>(height - 1)));
    };
    const int mean = level(texel.mean);
    const int high = std::min(level(texel.high), height - 1);
    const int low = std::min(level(texel.low), height - 1);
    for (int y = std::min(mean, height - 1); y < height; ++y) {
      pixels[static_cast<ptrdiff_t>(y) * width + static_cast<ptrdiff_t>(x)] = area;
    }
    for (int y = high; y <= low; ++y) {
      pixels[static_cast<ptrdiff_t>(y) * width + static_cast<ptrdiff_t>(x)] = strong;
    }
  }
}

void Tint(const std::vector<uint8_t>& tints, ImU32 color, Strip& strip) {
  const size_t columns = std::min(tints.size(), static_cast<size_t>(strip.width));
  for (size_t x = 0; x < columns; ++x) {
    if (tints[x] == 0) continue;
    const float part = static_cast<float>(tints[x]) / 255;
    for (size_t at = x; at < strip.pixels.size(); at += static_cast<size_t>(strip.width)) {
      strip.pixels[at] = Mixed(strip.pixels[at], color, part);
    }
  }
}

}  // namespace

float LowerPart(float top, float bottom) { return std::round(top + (bottom - top) * kUpperPart); }

void FillStrip(const std::vector<LaneRow>& rows, int width, uint64_t drawn, float line,
               const Look& look, Strip& strip, const std::vector<uint8_t>& tints) {
  if (strip.model != nullptr && strip.drawn == drawn && strip.width == width &&
      strip.line == line && strip.tints == tints) {
    return;
  }
  int height = 0;
  for (const LaneRow& row : rows) height += RowsOf(row, line);
  strip.width = std::max(1, width);
  strip.height = std::max(1, height);
  strip.pixels.assign(static_cast<size_t>(strip.width) * static_cast<size_t>(strip.height),
                      look.colors.lane);
  ImU32* at = strip.pixels.data();
  for (const LaneRow& row : rows) {
    const int high = RowsOf(row, line);
    if (IsSeries(row)) {
      FillSeries(row, width, high, look, at);
    } else {
      FillSpans(row, width, look, at);
    }
    at += static_cast<ptrdiff_t>(width) * high;
  }
  Tint(tints, look.Of(Paint::kInputStall), strip);
  strip.tints = tints;
  strip.drawn = drawn;
  strip.line = line;
  strip.model = rows.data();
  ++strip.revision;
}

void PutLane(ImDrawList& list, const std::vector<LaneRow>& rows, size_t row, const Strip& strip,
             float line, ImVec2 from, ImVec2 to) {
  if (strip.texture == nullptr) return;
  int first = 0;
  for (size_t i = 0; i < row; ++i) first += RowsOf(rows[i], line);
  const auto v = [&](int y) { return static_cast<float>(y) / static_cast<float>(strip.height); };
  if (IsSeries(rows[row])) {
    list.AddImage(strip.texture, from, to, {0, v(first)},
                  {1, v(first + SeriesRows(rows[row], line))});
    return;
  }
  const float middle = LowerPart(from.y, to.y);
  list.AddImage(strip.texture, from, {to.x, middle}, {0, v(first)}, {1, v(first + 1)});
  list.AddImage(strip.texture, {from.x, middle}, to, {0, v(first + 1)}, {1, v(first + 2)});
}

}  // namespace stallscope::views
