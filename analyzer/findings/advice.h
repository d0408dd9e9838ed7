// A change in the words of the user's own framework: a few lines of Python that stand with their
// rule. Private to the room; any thread.
#ifndef STALLSCOPE_ANALYZER_FINDINGS_ADVICE_H_
#define STALLSCOPE_ANALYZER_FINDINGS_ADVICE_H_

#include <string>
#include <string_view>

#include "analyzer/findings/finding.h"
#include "analyzer/model/run.h"

namespace stallscope::findings {

// A framework that has not got the technique, or does it by itself, has no text: code that only
// looks right would be worse.
struct Advice {
  std::string_view tf_data = {};  // and, for what happens on the device, TensorFlow 2
  std::string_view pytorch = {};  // 2.6 and later, with torchvision
  std::string_view dali = {};     // NVIDIA DALI 1.x
  std::string_view grain = {};    // 0.2.12 and later, with JAX on the device
};

// What the texts have in place of "{stage}" and "{value}".
struct AdviceArgs {
  std::string stage;
  std::string value;
};

Code CodeOf(const Advice& advice, const AdviceArgs& args);

// Whose words advice on a run is given in. A JAX run may take its batches from tf.data: then both
// speak.
struct Frameworks {
  bool tf_data = true;
  bool pytorch = true;
  bool dali = true;
  bool grain = true;
};

// Those that wrote an imported trace, by its format and by what its events are called. All of them
// for our own runs, and where nothing tells.
Frameworks FrameworksOf(const model::Run& run);

// Without the code of the others.
Code Only(Code code, const Frameworks& frameworks);

}  // namespace stallscope::findings

#endif  // STALLSCOPE_ANALYZER_FINDINGS_ADVICE_H_
