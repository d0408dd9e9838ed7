#include "analyzer/export/export.h"

#include "analyzer/export/chrome.h"
#include "analyzer/export/record_writer.h"
#include "analyzer/export/records.h"
#include "analyzer/export/text_sink.h"

namespace stallscope::exporting {
namespace {

Status WriteRecords(const model::Run& run, What what, Partition partition, RecordWriter& writer) {
  switch (what) {
    case What::kDefault:
    case What::kSpans:
      return WriteSpanRecords(run, writer);
    case What::kSteps:
      return partition == Partition::kKineto ? WriteKinetoStepRecords(run, writer)
                                             : WriteStepRecords(run, writer);
    case What::kCounters:
      return WriteCounterRecords(run, writer);
  }
  return {};
}

}  // namespace

Status Export(const model::Run& run, Format format, What what, Partition partition,
              const Sink& sink) {
  TextSink text(sink);
  switch (format) {
    case Format::kChrome:
      STALLSCOPE_RETURN_IF_ERROR(WriteChrome(run, what, text));
      break;
    case Format::kCsv: {
      CsvWriter writer(text);
      STALLSCOPE_RETURN_IF_ERROR(WriteRecords(run, what, partition, writer));
      break;
    }
    case Format::kJsonl: {
      JsonlWriter writer(text);
      STALLSCOPE_RETURN_IF_ERROR(WriteRecords(run, what, partition, writer));
      break;
    }
  }
  return text.Flush();
}

}  // namespace stallscope::exporting
