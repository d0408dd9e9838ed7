#include "collectors/data/picture.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "analyzer/base/splitmix.h"

namespace stallscope::data {

class PicturePainter::Random {
 public:
  explicit Random(uint64_t seed) : bits_(seed) {}
  uint64_t Next() { return bits_.Next(); }
  // -1 to 1, and `low` to `high`.
  float Signed() { return Step(static_cast<uint32_t>(Next() >> 40)); }
  float Between(float low, float high) { return low + (high - low) * (Signed() + 1) * 0.5f; }
  // Fills with values of -1 to 1, two per draw.
  void Fill(std::vector<float>& values) {
    for (size_t i = 0; i + 1 < values.size(); i += 2) {
      const uint64_t bits = Next();
      values[i] = Step(static_cast<uint32_t>(bits >> 40));
      values[i + 1] = Step(static_cast<uint32_t>(bits) & 0xffffff);
    }
    if (values.size() % 2 == 1) values.back() = Signed();
  }

 private:
  static float Step(uint32_t bits24) { return static_cast<float>(bits24) * 0x1p-23f - 1.0f; }
  SplitMix64 bits_;
};

// An ellipse of one color, with its own share of detail.
struct PicturePainter::Patch {
  float x, y, along, across, cosine, sine;
  float luma, blue, red, detail;
};

PicturePainter::PicturePainter(int width, int height)
    : width_(width), height_(height), cell_of_(static_cast<size_t>(width)) {
  const size_t pixels = static_cast<size_t>(width) * static_cast<size_t>(height);
  for (auto* plane : {&luma_, &blue_, &red_, &detail_, &fine_}) plane->resize(pixels);
  weight_of_.resize(static_cast<size_t>(width));
}

// One octave: random values on a lattice of `cell` pixels, smoothly joined.
void PicturePainter::AddNoise(Random& random, int cell, float amplitude,
                              std::vector<float>& field) {
  const auto across = static_cast<size_t>(width_ / cell + 2);
  const auto down = static_cast<size_t>(height_ / cell + 2);
  lattice_.resize(across * down);
  random.Fill(lattice_);
  line_.resize(across);
  const auto smooth = [](float t) { return t * t * (3 - 2 * t); };
  for (int x = 0; x < width_; ++x) {
    cell_of_[static_cast<size_t>(x)] = x / cell;
    weight_of_[static_cast<size_t>(x)] =
        smooth(static_cast<float>(x % cell) / static_cast<float>(cell));
  }
  for (int y = 0; y < height_; ++y) {
    const float* upper = lattice_.data() + static_cast<size_t>(y / cell) * across;
    const float* lower = upper + across;
    const float weight = smooth(static_cast<float>(y % cell) / static_cast<float>(cell));
    for (size_t i = 0; i < across; ++i) {
      line_[i] = amplitude * (upper[i] + weight * (lower[i] - upper[i]));
    }
    float* to = field.data() + static_cast<size_t>(y) * static_cast<size_t>(width_);
    for (int x = 0; x < width_; ++x) {
      const float* at = line_.data() + cell_of_[static_cast<size_t>(x)];
      to[x] += at[0] + weight_of_[static_cast<size_t>(x)] * (at[1] - at[0]);
    }
  }
}

namespace {

struct Direction {
  float cosine, sine;
};

// Sixteen directions over half a turn: a table, because cos and sin differ between libraries.
Direction DirectionOf(unsigned index) {
  static constexpr std::array<float, 9> kCosine = {1.0f,        0.98078528f, 0.92387953f,
                                                   0.83146961f, 0.70710678f, 0.55557023f,
                                                   0.38268343f, 0.19509032f, 0.0f};
  const unsigned i = index % 16;
  if (i <= 8) return {kCosine[i], kCosine[8 - i]};
  return {-kCosine[16 - i], kCosine[i - 8]};
}

// A triangle wave of period 1 and range -1 to 1.
float Wave(float t) {
  const float whole = static_cast<float>(static_cast<int>(t + 65536.0f)) - 65536.0f;
  const float part = t - whole;
  return part < 0.5f ? 4 * part - 1 : 3 - 4 * part;
}

// How far inside a figure of radius 1 a point is; negative outside.
float InsideOf(int shape, float x, float y) {
  const float ax = x < 0 ? -x : x;
  const float ay = y < 0 ? -y : y;
  switch (shape) {
    case 0:  // disc
      return 1 - (x * x + y * y);
    case 1:  // square
      return 0.85f - std::max(ax, ay);
    case 2:  // triangle
      return std::min(0.6f - y, y + 1 - 1.75f * ax);
    case 3: {  // ring
      const float square = x * x + y * y;
      return std::min(1 - square, square - 0.25f);
    }
    case 4:  // cross
      return std::max(std::min(0.33f - ax, 1 - ay), std::min(0.33f - ay, 1 - ax));
    default:  // rhombus
      return 1 - ax - ay;
  }
}
constexpr int kShapes = 6;

}  // namespace

// Patches with sharp edges, the large ones first: later patches hide earlier ones.
void PicturePainter::PaintPatches(Random& random) {
  const float size = static_cast<float>(std::min(width_, height_));
  constexpr int kPatches = 36;
  for (int i = 0; i < kPatches; ++i) {
    const float radius = size * 0.75f / (1.0f + 0.45f * static_cast<float>(i));
    const Direction turn = DirectionOf(static_cast<unsigned>(random.Next() % 16));
    Patch patch{random.Between(0, static_cast<float>(width_)),
                random.Between(0, static_cast<float>(height_)),
                radius,
                radius * random.Between(0.35f, 1.0f),
                turn.cosine,
                turn.sine,
                55 * random.Signed(),
                22 * random.Signed(),
                22 * random.Signed(),
                random.Between(0.15f, 1.6f)};
    patch.detail *= patch.detail;
    const int top = std::max(0, static_cast<int>(patch.y - radius));
    const int bottom = std::min(height_, static_cast<int>(patch.y + radius) + 1);
    const int left = std::max(0, static_cast<int>(patch.x - radius));
    const int right = std::min(width_, static_cast<int>(patch.x + radius) + 1);
    for (int y = top; y < bottom; ++y) {
      for (int x = left; x < right; ++x) {
        const float dx = static_cast<float>(x) - patch.x;
        const float dy = static_cast<float>(y) - patch.y;
        const float u = (dx * patch.cosine + dy * patch.sine) / patch.along;
        const float v = (dy * patch.cosine - dx * patch.sine) / patch.across;
        if (u * u + v * v > 1) continue;
        const size_t at =
            static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x);
        // Shaded from its upper left, as light falls.
        luma_[at] = patch.luma - 18 * (u + v);
        blue_[at] = patch.blue;
        red_[at] = patch.red;
        detail_[at] = patch.detail;
      }
    }
  }
}

// The class: a shape of 6, a hue of its own, stripes in one of 16 directions.
void PicturePainter::PaintFigure(Random& random, int label) {
  const auto number = static_cast<unsigned>(label);
  const int shape = label % kShapes;
  const Direction stripes = DirectionOf(number * 5 + number / 16);
  // The golden ratio spreads any number of hues evenly; a walk around a square replaces the circle.
  const float turn = static_cast<float>(number) * 0.61803399f;
  const float blue = 48 * Wave(turn);
  const float red = 48 * Wave(turn + 0.25f);
  const float size = static_cast<float>(std::min(width_, height_));
  const float radius = size * random.Between(0.30f, 0.48f);
  const float center_x = static_cast<float>(width_) * random.Between(0.38f, 0.62f);
  const float center_y = static_cast<float>(height_) * random.Between(0.38f, 0.62f);
  const float luma = 35 * random.Signed();
  const float phase = random.Between(0, 1);
  const float period = radius * random.Between(0.22f, 0.30f);
  const int reach = static_cast<int>(radius) + 1;
  const int top = std::max(0, static_cast<int>(center_y) - reach);
  const int bottom = std::min(height_, static_cast<int>(center_y) + reach + 1);
  const int left = std::max(0, static_cast<int>(center_x) - reach);
  const int right = std::min(width_, static_cast<int>(center_x) + reach + 1);
  for (int y = top; y < bottom; ++y) {
    for (int x = left; x < right; ++x) {
      const float dx = static_cast<float>(x) - center_x;
      const float dy = static_cast<float>(y) - center_y;
      if (InsideOf(shape, dx / radius, dy / radius) <= 0) continue;
      const size_t at =
          static_cast<size_t>(y) * static_cast<size_t>(width_) + static_cast<size_t>(x);
      const float wave = Wave((dx * stripes.cosine + dy * stripes.sine) / period + phase);
      luma_[at] = luma + 30 * wave - 12 * (dx + dy) / radius;
      blue_[at] = blue;
      red_[at] = red;
      detail_[at] = 0.7f;
    }
  }
}

// From brightness and color to RGB.
void PicturePainter::Develop(Tensor& into) const {
  into.Reset(DType::kUint8, {height_, width_, 3});
  uint8_t* to = into.data();
  const auto clip = [](float value) {
    return static_cast<uint8_t>(std::clamp(value, 0.0f, 255.0f));
  };
  for (size_t i = 0; i < luma_.size(); ++i, to += 3) {
    const float luma = 122 + luma_[i] + detail_[i] * fine_[i];
    to[0] = clip(luma + 1.402f * red_[i]);
    to[1] = clip(luma - 0.344136f * blue_[i] - 0.714136f * red_[i]);
    to[2] = clip(luma + 1.772f * blue_[i]);
  }
}

void PicturePainter::Paint(uint64_t seed, uint64_t number, int label, Tensor& into) {
  Random random(seed * 0xd1342543de82ef95u + number + 1);
  const float horizon = 40 * random.Signed();
  const float tint_blue = 14 * random.Signed();
  const float tint_red = 14 * random.Signed();
  for (int y = 0; y < height_; ++y) {
    const float slope = horizon * (static_cast<float>(2 * y) / static_cast<float>(height_) - 1);
    const auto row = static_cast<ptrdiff_t>(y) * width_;
    std::fill_n(luma_.begin() + row, width_, slope);
  }
  std::fill(blue_.begin(), blue_.end(), tint_blue);
  std::fill(red_.begin(), red_.end(), tint_red);
  std::fill(detail_.begin(), detail_.end(), random.Between(0.1f, 0.6f));
  std::fill(fine_.begin(), fine_.end(), 0.0f);
  PaintPatches(random);
  PaintFigure(random, label);
  // Coarse octaves light everything alike; fine ones are the surface of each patch.
  const int largest = std::max(1, std::min(width_, height_) / 2);
  for (int cell = largest; cell > 12; cell /= 2) {
    AddNoise(random, cell, 16, luma_);
    AddNoise(random, cell, 5, blue_);
    AddNoise(random, cell, 5, red_);
  }
  constexpr std::array<std::pair<int, float>, 4> kFine = {{{8, 20}, {4, 24}, {2, 27}, {1, 22}}};
  for (const auto& [cell, amplitude] : kFine) AddNoise(random, cell, amplitude, fine_);
  Develop(into);
}

}  // namespace stallscope::data
