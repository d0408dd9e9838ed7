// Paints pictures that compress, decode and train like photographs.
//
// Contrast is about equal at every scale, as in natural images (an amplitude spectrum of 1/f), over
// patches with sharp edges that hide one another. A figure in front shows the class: its shape, its
// hue, and the direction of its stripes. The same seed, number and label give the same pixels on
// every machine: only additions and multiplications that IEEE 754 fixes, no fused ones, and no
// function of the mathematical library for a pixel. One object per thread, reused.
#pragma once

#include <cstdint>
#include <vector>

#include "collectors/data/tensor.h"

namespace stallscope::data {

class PicturePainter {
 public:
  PicturePainter(int width, int height);

  // Gives `into` the shape height x width x 3 of uint8.
  void Paint(uint64_t seed, uint64_t number, int label, Tensor& into);

 private:
  struct Patch;
  class Random;

  void AddNoise(Random& random, int cell, float amplitude, std::vector<float>& field);
  void PaintPatches(Random& random);
  void PaintFigure(Random& random, int label);
  void Develop(Tensor& into) const;

  const int width_;
  const int height_;
  // Planes of width x height: brightness and two of color, 0 in the middle; how much of the fine
  // detail shows.
  std::vector<float> luma_;
  std::vector<float> blue_;
  std::vector<float> red_;
  std::vector<float> detail_;
  std::vector<float> fine_;
  // Of AddNoise.
  std::vector<float> lattice_;
  std::vector<float> line_;
  std::vector<int> cell_of_;
  std::vector<float> weight_of_;
};

}  // namespace stallscope::data
