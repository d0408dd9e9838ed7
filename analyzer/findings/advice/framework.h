// Whose words advice on a run is given in. Private to the room; any thread.
#ifndef STALLSCOPE_ANALYZER_FINDINGS_ADVICE_FRAMEWORK_H_
#define STALLSCOPE_ANALYZER_FINDINGS_ADVICE_FRAMEWORK_H_

#include "analyzer/findings/finding.h"
#include "analyzer/model/run.h"

namespace stallscope::findings::advice {

// A JAX run may take its batches from tf.data: then both speak.
struct Frameworks {
  bool tf_data = true;
  bool pytorch = true;
  bool dali = true;
  bool grain = true;  // and what JAX does on the device
};

// Those that wrote an imported trace, by its format and by what its events are called. All of them
// for our own runs, and where nothing tells.
Frameworks FrameworksOf(const model::Run& run);

// Without the code of the others.
Code Only(Code code, const Frameworks& frameworks);

}  // namespace stallscope::findings::advice

#endif  // STALLSCOPE_ANALYZER_FINDINGS_ADVICE_FRAMEWORK_H_
