// Whatever was read, its export keeps to what trace viewers ask of trace events: Perfetto's
// importer leaves out, or shows in the wrong place, what breaks one of these rules.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/export/export.h"
#include "analyzer/importers/open_run.h"
#include "tests/support/paths.h"
#include "tests/support/skip.h"

using namespace stallscope;
using nlohmann::json;

namespace {

std::string Exported(const std::string& path) {
  const auto run = importers::OpenRun(path);
  REQUIRE(run.ok());
  std::string text;
  const Status done =
      exporting::Export(run.value(), exporting::Format::kChrome, exporting::What::kDefault,
                        [&](std::string_view piece) -> Status {
                          text += piece;
                          return {};
                        });
  REQUIRE(done.ok());
  return text;
}

// Microseconds behind this key as they stand in the text: since 1970 a double has quarters of them.
int64_t Ns(const std::string& line, const std::string& key) {
  const size_t at = line.find("\"" + key + "\":");
  if (at == std::string::npos) return 0;
  int64_t ns = 0;
  int digits = -1;  // behind the point
  for (size_t i = at + key.size() + 3; i < line.size(); ++i) {
    if (line[i] == '.' && digits < 0) {
      digits = 0;
    } else if (line[i] >= '0' && line[i] <= '9' && digits < 3) {
      ns = ns * 10 + (line[i] - '0');
      digits += digits < 0 ? 0 : 1;
    } else {
      break;
    }
  }
  for (digits = std::max(digits, 0); digits < 3; ++digits) ns *= 10;
  return ns;
}

using Thread = std::pair<int64_t, int64_t>;

class Rules {
 public:
  void Check(const std::string& text) {
    const json file = json::parse(text, nullptr, false);
    REQUIRE_FALSE(file.is_discarded());
    REQUIRE(file["traceEvents"].is_array());
    // An event a line.
    std::istringstream lines(text);
    size_t events = 0;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("{\"ph\"")) continue;
      if (line.ends_with(",")) line.pop_back();
      CheckEvent(json::parse(line), line);
      ++events;
    }
    CHECK(events == file["traceEvents"].size());
    for (const auto& [thread, spans] : spans_) CheckNesting(spans);
    for (const auto& [thread, spans] : spans_) nameless_ += named_.contains(thread) ? 0 : 1;
    CHECK(broken_ == 0);
    CHECK(crossing_ == 0);
    CHECK(nameless_ == 0);
    CHECK(open_ == 0);
    CHECK(flows_begun_ == flows_ended_);
  }
  int64_t spans() const { return count_; }

 private:
  void CheckEvent(const json& event, const std::string& line) {
    const bool whole = event.is_object() && event.contains("ph") && event["ph"].is_string() &&
                       event["ph"].get<std::string>().size() == 1 && event.contains("pid") &&
                       event["pid"].is_number_integer();
    if (!whole) {
      ++broken_;
      return;
    }
    const char phase = event["ph"].get<std::string>()[0];
    const int64_t tid = event.value("tid", int64_t{0});
    const Thread thread{event["pid"].get<int64_t>(), tid};
    if (phase == 'M') {
      if (event["name"] == "thread_name") named_.insert(thread);
      broken_ += event["args"].is_object() ? 0 : 1;
      return;
    }
    if (!event["ts"].is_number() || !event["name"].is_string()) {
      ++broken_;
      return;
    }
    switch (phase) {
      case 'X':
        broken_ += event["dur"].is_number() && event["dur"] >= 0 ? 0 : 1;
        spans_[thread].emplace_back(Ns(line, "ts"), Ns(line, "ts") + Ns(line, "dur"));
        ++count_;
        break;
      case 'C':
        for (const json& value : event["args"]) broken_ += value.is_number() ? 0 : 1;
        break;
      case 'b':
      case 'e':
        broken_ += event.contains("id") && event.contains("cat") ? 0 : 1;
        open_ += phase == 'b' ? 1 : -1;
        break;
      case 's':
        flows_begun_.insert(event["id"].dump());
        break;
      case 'f':
        flows_ended_.insert(event["id"].dump());
        break;
      case 'i':
        break;
      default:
        ++broken_;
    }
  }

  // A slice lies inside another one or beside it.
  void CheckNesting(std::vector<std::pair<int64_t, int64_t>> spans) {
    std::stable_sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    std::vector<int64_t> ends;
    for (const auto& [start, end] : spans) {
      while (!ends.empty() && ends.back() <= start) ends.pop_back();
      if (!ends.empty() && end > ends.back()) ++crossing_;
      ends.push_back(end);
    }
  }

  std::map<Thread, std::vector<std::pair<int64_t, int64_t>>> spans_;
  std::set<Thread> named_;
  std::set<std::string> flows_begun_;
  std::set<std::string> flows_ended_;
  int64_t count_ = 0;
  int64_t broken_ = 0;
  int64_t crossing_ = 0;
  int64_t nameless_ = 0;
  int64_t open_ = 0;
};

void CheckFolder(const std::string& folder) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool trace = name.ends_with(".sst") || name.ends_with(".gz") || name.ends_with(".pb") ||
                       name.ends_with(".json") || name.ends_with(".sqlite");
    if (!trace) continue;
    CAPTURE(name);
    Rules rules;
    rules.Check(Exported(entry.path().string()));
    CHECK(rules.spans() > 0);
    ++files;
  }
  CHECK(files > 0);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("every sample's export follows the rules of trace viewers") {
    CheckFolder(test::SourceDir() + "/sample_traces");
  }

  TEST_CASE("real traces of other tools follow them, too") {
    const auto corpus = test::CorpusDir();
    if (!corpus) return test::Skip("STALLSCOPE_CORPUS is not set");
    for (const char* const kind : {"kineto", "xplane", "nsys", "tf_trace", "chrome"}) {
      CheckFolder(*corpus + "/" + kind);
    }
  }
}
