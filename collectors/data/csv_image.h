// An image as a row of CSV: the label, the size, then the pixels row by row, as R, G, B.
//
//   label,height,width,p0,p1,...      3,375,500,17,23,9,...
//
// Each row is complete. A row without a size is read as such data is commonly published, as one
// square image: a label, then N x N x 3 or N x N values; gray becomes RGB. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/base/result.h"
#include "collectors/data/buffer.h"
#include "collectors/data/tensor.h"

namespace stallscope::data {

// Returns the label and gives `into` the shape height x width x 3 of uint8. The error names the
// column.
Result<int64_t> DecodeCsvImage(std::string_view row, Tensor& into);

// Appends the row with its line break. `image` is height x width x 3 of uint8.
void AppendCsvImage(int64_t label, const Tensor& image, Buffer& into);

// The first line of a file of such images, with its line break.
std::string CsvImageHeader(int64_t height, int64_t width);

}  // namespace stallscope::data
