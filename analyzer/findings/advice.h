// A change as code for the user's own framework: a few lines of Python, kept with their rule.
// Private to the room; any thread.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/findings/finding.h"
#include "analyzer/model/run.h"

namespace stallscope::findings {

// A framework that lacks the technique, or applies it by itself, has no text: code that only looks
// right would be worse.
struct Advice {
  std::string_view tf_data = {};  // and, for what happens on the device, TensorFlow 2
  std::string_view pytorch = {};  // 2.6 and later, with torchvision
  std::string_view dali = {};     // NVIDIA DALI 1.x
  std::string_view grain = {};    // 0.2.12 and later, with JAX on the device
};

// What replaces "{stage}", "{value}" and "{batches}" in the texts.
struct AdviceArgs {
  std::string stage;
  std::string value;
  std::string batches;     // whose gradients make one update
  std::string transforms;  // torchvision's, where {value} has Keras's layers
};

// Batches of {value}, the gradients of {batches} of them in each update.
extern const Advice kAccumulate;
// Each worker takes its own part of a stream.
extern const Advice kDivideStream;
// Workers that are started once, for all epochs.
extern const Advice kLoadInWorkersThatStay;

Code CodeOf(const Advice& advice, const AdviceArgs& args);

// The frameworks to give advice for. A JAX run may take its batches from tf.data: then both.
struct Frameworks {
  bool tf_data = true;
  bool pytorch = true;
  bool dali = true;
  bool grain = true;
};

// Those that wrote an imported trace, by its format and the names of its events. All of them for
// our own runs, and if nothing identifies them.
Frameworks FrameworksOf(const model::Run& run);

// Without the code of the others.
Code Only(Code code, const Frameworks& frameworks);

}  // namespace stallscope::findings
