// The arithmetic of our own kernels: what one thread does with one element. It compiles for the
// device and for the host, where the tests compare it with the host device's kernels: index
// arithmetic goes wrong more often than a GPU does. Plain data, passed to a kernel by value.
#pragma once

#include <cstdint>

#include "collectors/device/cuda/kernel_values.h"
#include "collectors/device/launch.h"

namespace stallscope::device::cuda {

// Any chain of elementwise kernels; one kernel is a chain of one. For each element i of the
// outputs.
struct Elementwise {
  static constexpr int kMostSteps = 16;
  static constexpr int kMostOperands = 16;
  struct Step {
    Kernel kernel;
    Type type;
    int8_t a;
    int8_t b;
    int8_t out;
  };

  Step steps[kMostSteps];
  int32_t count;
  Values in[kMostOperands];
  Values out[kMostOperands];

  // An input that is shorter than the outputs repeats: a bias.
  STALLSCOPE_BODY float Input(int which, int64_t i) const {
    const Values& x = in[which];
    if (x.elements == out[0].elements) return Load(x, i);
    if (i < 0xffffffffll) {
      return Load(x, static_cast<uint32_t>(i) % static_cast<uint32_t>(x.elements));
    }
    return Load(x, i % x.elements);
  }

  STALLSCOPE_BODY void operator()(int64_t i) const {
    float results[kMostSteps];
    for (int k = 0; k < count; ++k) {
      const Step& step = steps[k];
      const float a = step.a < 0 ? results[-1 - step.a] : Input(step.a, i);
      float value = a;
      if (step.kernel == Kernel::kGelu) {
        value = GeluOf(a);
      } else if (step.kernel != Kernel::kCast) {
        const float b = step.b < 0 ? results[-1 - step.b] : Input(step.b, i);
        value = step.kernel == Kernel::kGeluBackward ? b * GeluSlopeOf(a) : a + b;
      }
      results[k] = RoundTo(step.type, value);
      if (step.out >= 0) Store(out[step.out], i, results[k]);
    }
  }
};

// out = x * scale + offset
struct Convert {
  Values x, out;
  float scale, offset;
  STALLSCOPE_BODY void operator()(int64_t i) const { Store(out, i, Load(x, i) * scale + offset); }
};

// For each value of the patches.
struct Patches {
  Values images, out;
  int32_t height, width, channels, side;
  float scale, offset;
  STALLSCOPE_BODY void operator()(int64_t i) const {
    const int32_t across = width / side;
    const int64_t run = int64_t{side} * channels;
    const int64_t patch = i / (run * side);
    const auto within = static_cast<int32_t>(i - patch * run * side);
    const auto row = static_cast<int32_t>(within / run);
    const auto at = static_cast<int32_t>(within - row * run);
    const int64_t line = patch / across;  // of patches, over all images
    const auto column = static_cast<int32_t>(patch - line * across);
    const int32_t down = height / side;
    const int64_t image = line / down;
    const auto top = static_cast<int32_t>(line - image * down);
    const int64_t y = int64_t{top} * side + row;
    const int64_t from = ((image * height + y) * width + int64_t{column} * side) * channels + at;
    Store(out, i, Load(images, from) * scale + offset);
  }
};

// For each value of the result; the device does it tile by tile instead.
struct Transpose {
  Values x, out;
  int64_t rows, columns;
  STALLSCOPE_BODY void operator()(int64_t i) const {
    const int64_t matrix = i / (rows * columns);
    const int64_t within = i - matrix * rows * columns;
    const int64_t c = within / rows;
    const int64_t r = within - c * rows;
    Store(out, i, Load(x, matrix * rows * columns + r * columns + c));
  }
};

// For each value of the new images. Interpolates between pixels of the region, never outside it.
struct Regions {
  Values images, out;
  const int32_t* regions;
  int32_t height, width, channels, new_height, new_width;

  // The new pixel's center along a side of the region: the pixel before it, and how far past that.
  struct Place {
    int32_t first;
    int32_t second;
    float between;
  };
  STALLSCOPE_BODY static Place PlaceOf(int32_t at, int32_t new_side, int32_t from, int32_t side) {
    float middle =
        (static_cast<float>(at) + 0.5f) * static_cast<float>(side) / static_cast<float>(new_side) -
        0.5f;
    const auto last = static_cast<float>(side - 1);
    middle = middle < 0 ? 0 : middle > last ? last : middle;
    const auto first = static_cast<int32_t>(middle);
    return {from + first, from + (first + 1 < side ? first + 1 : first),
            middle - static_cast<float>(first)};
  }
  STALLSCOPE_BODY void operator()(int64_t i) const {
    const int64_t pixel = i / channels;
    const int64_t c = i - pixel * channels;
    const int64_t line = pixel / new_width;
    auto x = static_cast<int32_t>(pixel - line * new_width);
    const int64_t image = line / new_height;
    const auto y = static_cast<int32_t>(line - image * new_height);
    const int32_t* region = regions + image * 5;
    if (region[4] != 0) x = new_width - 1 - x;
    const Place across = PlaceOf(x, new_width, region[0], region[2]);
    const Place down = PlaceOf(y, new_height, region[1], region[3]);
    const auto at = [&](int32_t row, int32_t column) {
      return Load(images, ((image * height + row) * width + column) * channels + c);
    };
    const float above = at(down.first, across.first) * (1 - across.between) +
                        at(down.first, across.second) * across.between;
    const float below = at(down.second, across.first) * (1 - across.between) +
                        at(down.second, across.second) * across.between;
    Store(out, i, above * (1 - down.between) + below * down.between);
  }
};

struct ScaleChannels {
  static constexpr int kMost = 8;
  Values x, out;
  int32_t channels;
  float scale[kMost];
  float offset[kMost];
  STALLSCOPE_BODY void operator()(int64_t i) const {
    const auto c = static_cast<int32_t>(i % channels);
    Store(out, i, Load(x, i) * scale[c] + offset[c]);
  }
};

// For each (image, channel).
struct MeanPool {
  Values x, out;
  int64_t tokens, channels;
  STALLSCOPE_BODY void operator()(int64_t i) const {
    const int64_t image = i / channels;
    const int64_t c = i - image * channels;
    float sum = 0;
    for (int64_t t = 0; t < tokens; ++t) sum += Load(x, (image * tokens + t) * channels + c);
    Store(out, i, sum * (1.0f / static_cast<float>(tokens)));
  }
};
struct MeanPoolBackward {
  Values gradient, out;
  int64_t tokens, channels;
  STALLSCOPE_BODY void operator()(int64_t i) const {
    const int64_t image = i / (tokens * channels);
    const int64_t c = i % channels;
    Store(out, i, Load(gradient, image * channels + c) * (1.0f / static_cast<float>(tokens)));
  }
};

// Rows in chunks, for each (chunk, column); then the chunks, for each column. Two passes instead of
// one with atomic additions: the sum is the same in every run.
struct SumRowsOfChunk {
  Values x;
  float* sums;
  int64_t rows, columns, rows_a_chunk;
  STALLSCOPE_BODY void operator()(int64_t i) const {
    const int64_t chunk = i / columns;
    const int64_t c = i - chunk * columns;
    const int64_t first = chunk * rows_a_chunk;
    const int64_t end = first + rows_a_chunk < rows ? first + rows_a_chunk : rows;
    float sum = 0;
    for (int64_t r = first; r < end; ++r) sum += Load(x, r * columns + c);
    sums[i] = sum;
  }
};
struct SumChunks {
  const float* sums;
  Values out;
  int64_t chunks, columns;
  STALLSCOPE_BODY void operator()(int64_t c) const {
    float sum = 0;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) sum += sums[chunk * columns + c];
    Store(out, c, sum);
  }
};

struct AllReduce {
  static constexpr int kMost = 16;
  Values replicas[kMost];
  int32_t count;
  Values out;
  STALLSCOPE_BODY void operator()(int64_t i) const {
    float sum = 0;
    for (int k = 0; k < count; ++k) sum += Load(replicas[k], i);
    Store(out, i, sum);
  }
};

// For products that the library has no kernel for; for each value of the result.
struct Product {
  Values a, b, out;
  int64_t m, n, k;
  bool a_turned, b_turned;
  float scale, keep;
  STALLSCOPE_BODY void operator()(int64_t i) const {
    const int64_t r = i / n;
    const int64_t c = i - r * n;
    float sum = 0;
    for (int64_t j = 0; j < k; ++j) {
      sum += Load(a, a_turned ? j * m + r : r * k + j) * Load(b, b_turned ? c * k + j : j * n + c);
    }
    Store(out, i, scale * sum + (keep != 0 ? keep * Load(out, i) : 0));
  }
};

}  // namespace stallscope::device::cuda
