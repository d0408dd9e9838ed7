#include "analyzer/importers/chrome/import.h"

#include <array>
#include <utility>

#include "analyzer/importers/chrome/collector.h"
#include "analyzer/importers/chrome/document.h"

namespace stallscope::importers::chrome {
namespace {

std::string_view WithoutSpace(std::string_view text) {
  while (!text.empty() && IndexedText::IsSpace(text.front())) text.remove_prefix(1);
  return text;
}

// Keys that stand in every event, or in the heads of those that write one.
constexpr std::array<std::string_view, 6> kKeys = {"\"ph\"",
                                                   "\"traceEvents\"",
                                                   "\"schemaVersion\"",
                                                   "\"deviceProperties\"",
                                                   "\"displayTimeUnit\"",
                                                   "\"distributedInfo\""};

}  // namespace

bool LooksLikeTraceEvents(std::string_view head) {
  if (head.substr(0, 3) == "\xef\xbb\xbf") head.remove_prefix(3);
  const std::string_view text = WithoutSpace(head);
  if (text.empty() || (text[0] != '{' && text[0] != '[')) return false;
  for (const std::string_view key : kKeys) {
    if (text.find(key) != std::string_view::npos) return true;
  }
  // A head may be longer than what is seen of it; a file that ends without a key has no events.
  return text[0] == '{' && head.size() >= ByteSource::kHeadBytes;
}

Result<model::Run> ReadTraceEvents(ByteSource& source) {
  Collector collector(source);
  Document document(source);
  STALLSCOPE_RETURN_IF_ERROR(document.Read(collector));
  if (collector.events() == 0) {
    const char* what = document.has_events() ? "this JSON has a list of events, and none in it"
                                             : "this JSON holds no trace events";
    return Error{ErrorKind::kInput, what, source.path(),
                 "give what a profiler has written: a list of events, or an object with "
                 "\"traceEvents\""};
  }
  model::Run run = collector.Finish();
  TellDamage(source, run.quality);
  return run;
}

}  // namespace stallscope::importers::chrome
