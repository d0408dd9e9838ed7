// What ops of maps and reading usually take on one core, for work that no run shows because its
// ops, or its files, are others.
//
// One table (op_times.cpp), which says what of it was measured; an assumption about any other
// machine, and so only ever used as a ratio to what a run of it shows. Each time has the error that
// it may have beside its neighbors'. Any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyzer/spec/ops.h"
#include "analyzer/spec/spec.h"

namespace stallscope {

// A sample between two ops, as far as their times depend on it.
struct SampleForm {
  double file_bytes = 0;   // as it was read
  bool decoded = false;    // else the file's bytes are the sample
  double pixels = 0;       // of three values each
  double value_bytes = 1;  // of each value

  double bytes() const { return decoded ? pixels * 3 * value_bytes : file_bytes; }
};

struct UsualTime {
  std::string what;  // the op and what its time depends on: equal ones err alike
  double ns = 0;     // per sample
  double error = 0;  // 90% of machines take ns / (1 + error) to ns * (1 + error)
};

// As a source of this format hands on an element of so many bytes.
SampleForm FormRead(SourceFormat format, double bytes);
// The same element after `stallscope convert`, read from records or raw tensors; nothing if what
// comes of it is not known.
std::optional<SampleForm> FormConverted(SourceFormat from, double bytes, SourceFormat to);
// Of reading a record of so many bytes from the page cache: of a record file, or of a store.
UsualTime UsualRead(double bytes);

// Of each op in turn on a sample of this form, which becomes what they make of it; `whole`: they
// work on whole batches. Ops that state their own cost (busy, sleep) are left out. Nothing if one
// of them has no usual time: a text's.
std::optional<std::vector<UsualTime>> UsualTimesOf(std::span<const OpCall> ops, bool whole,
                                                   SampleForm& form);
// Of copying so many bytes into a batch, or into a cache or out of it.
UsualTime UsualCopy(double bytes);
// Of converting a sample's values to others of `value_bytes`, as a copy to the device needs it.
UsualTime UsualConversion(const SampleForm& form, double value_bytes);

// Pixels of a picture whose JPEG has this many bytes.
double UsualPixels(double jpeg_bytes);
// By how much they may be off, as a factor of 1 + this.
constexpr double kPixelsError = 0.4;

// A device does an op in this part of a core's time: launching bounds small ops, memory the others.
constexpr double kDeviceOfCore = 1.0 / 30;
constexpr double kDeviceError = 2.3;

}  // namespace stallscope
