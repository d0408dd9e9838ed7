// Asynchronous events, which begin and end on any thread: "b" and "e", and their elders "S", "F".
// One thread at a time.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_CHROME_ASYNC_SPANS_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_CHROME_ASYNC_SPANS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/importers/chrome/event.h"
#include "analyzer/importers/chrome/lanes.h"
#include "analyzer/importers/foreign/run_builder.h"

namespace stallscope::importers::chrome {

class AsyncSpans {
 public:
  AsyncSpans(RunBuilder& builder, Lanes& lanes) : builder_(builder), lanes_(lanes) {}

  void Begin(const Event& event, uint16_t span_class, int64_t time_ns);
  void End(const Event& event, int64_t time_ns);
  // Ends what is still open at the last time that was seen.
  void Close();

 private:
  struct Open {
    TrackId track;
    uint16_t span_class = 0;
    int64_t start_ns = 0;
  };
  TrackId TrackOf(const Event& event);

  RunBuilder& builder_;
  Lanes& lanes_;
  std::map<std::string, std::vector<Open>> open_;  // by category, id and process
  std::map<std::string, TrackId> tracks_;          // by process and category
  size_t count_ = 0;                               // that are open
  int64_t last_ns_ = 0;
};

}  // namespace stallscope::importers::chrome

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_CHROME_ASYNC_SPANS_H_
