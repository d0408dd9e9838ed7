// Any file: loaded, attributed, judged, priced, and written as JSON.
#include <cstdint>
#include <numeric>
#include <string_view>

#include "analyzer/attribution/attribution.h"
#include "analyzer/model/loader.h"
#include "analyzer/report/html/forms.h"
#include "replay/whatif/price.h"
#include "tests/fuzz/expect.h"
#include "tests/support/memory_file.h"

using namespace stallscope;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static test::MemoryFile file;
  file.Set({reinterpret_cast<const char*>(data), size});
  const auto run = model::LoadTrace(file.path());
  if (!run.ok()) return 0;
  const attribution::Attribution attribution = attribution::Attribute(run.value());
  const report::Report report = replay::ReportOn(run.value(), attribution, true);
  for (const report::FindingRow& finding : report.findings) {
    if (!finding.recommendation || !finding.recommendation->gain) continue;
    const auto& gain = *finding.recommendation->gain;
    STALLSCOPE_EXPECT(gain.low <= gain.predicted && gain.predicted <= gain.high);
    STALLSCOPE_EXPECT(gain.low > 0);
  }
  STALLSCOPE_EXPECT(!report::Write(report, report::Form::kJson).empty());
  return 0;
}
