// The window says what the report says: verdict, breakdown, order of findings, gains, percentiles
// and counts of every panel equal those of the report's JSON, for every sample and, where
// STALLSCOPE_CORPUS names it, every trace of the corpus.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "analyzer/report/json.h"
#include "analyzer/words/words.h"
#include "gui/session/analysis.h"
#include "gui/viewmodel/findings.h"
#include "gui/viewmodel/overview.h"
#include "gui/viewmodel/pipeline.h"
#include "gui/viewmodel/run_facts.h"
#include "gui/viewmodel/stalls.h"
#include "gui/viewmodel/steps.h"
#include "gui/viewmodel/timeline_hit.h"
#include "tests/gui/session/scene.h"
#include "tests/support/skip.h"

using namespace stallscope;
using namespace stallscope::viewmodel;
namespace intent = session::intent;
using report::Json;
using test::Do;

namespace {

constexpr uintmax_t kLargest = 64'000'000;  // a file in bytes

std::vector<std::string> TracesIn(const std::filesystem::path& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const std::string above = entry.path().parent_path().filename().string();
    const bool trace = name.ends_with(".sst") || name.ends_with(".gz") || name.ends_with(".pb") ||
                       name.ends_with(".sqlite") ||
                       (name.ends_with(".json") && above != "facts" && above != "specs");
    if (trace && entry.is_regular_file() && entry.file_size() < kLargest) {
      paths.push_back(entry.path().string());
    }
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool Has(const std::vector<std::string>& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

std::string FactorOf(const Json& gain) {
  if (gain.is_null()) return "";
  const Json& figure = gain["measured"].is_null() ? gain["predicted"] : gain["measured"];
  return figure.is_null() ? "" : words::Factor(figure.get<double>());
}

void CheckOverview(const session::State& state, const Json& report) {
  const OverviewModel model = BuildOverview(state);
  CHECK(model.verdict == report["verdict"]["text"]);
  CHECK(model.confidence == report["verdict"]["confidence"]);
  size_t part = 0;
  for (const auto& [name, total] : report["breakdown"].items()) {
    if (total.is_null() || total["ns"] == 0) continue;
    const std::string category = name;  // clang 14 captures no structured bindings
    CAPTURE(category);
    REQUIRE(part < model.breakdown.size());
    CHECK(model.breakdown[part].text == words::Percent(total["fraction"].get<double>()));
    CHECK(model.breakdown[part].tooltip.find(words::BothNs(total["ns"].get<int64_t>())) !=
          std::string::npos);
    ++part;
  }
  CHECK(part == model.breakdown.size());
  size_t advice = 0;
  for (const Json& finding : report["findings"]) {
    if (finding["recommendation"].is_null() || advice == model.advice.size()) continue;
    CHECK(model.advice[advice].text == finding["recommendation"]["text"]);
    CHECK(model.advice[advice].gain.factor == FactorOf(finding["recommendation"]["gain"]));
    CHECK(model.advice[advice].gain.beside.empty() == false);
    ++advice;
  }
  CHECK(advice == model.advice.size());
}

void CheckFindings(const session::State& state, const Json& report) {
  const FindingsModel model = BuildFindings(state);
  REQUIRE(model.cards.size() == report["findings"].size());
  for (size_t i = 0; i < model.cards.size(); ++i) {
    const Json& finding = report["findings"][i];
    CHECK(model.cards[i].title.find(finding["id"].get<std::string>()) == 0);
    CHECK(model.cards[i].text == finding["text"]);
    CHECK(model.cards[i].share.find(words::Percent(finding["share"].get<double>())) == 0);
    if (finding["recommendation"].is_null()) continue;
    CHECK(model.cards[i].gain.factor == FactorOf(finding["recommendation"]["gain"]));
  }
}

void CheckFigures(const session::State& state, const Json& report) {
  const StepsModel steps = BuildSteps(state);
  const Json& times = report["step_time_ms"];
  if (steps.nothing.empty() && !times.is_null()) {
    const auto text = [&](const char* of) {
      return times[of].is_null() ? std::string(words::kUnknown)
                                 : words::Duration(times[of].get<double>() * 1e6);
    };
    CHECK(
        Has(steps.summary, "p50 " + text("p50") + ", p95 " + text("p95") + ", p99 " + text("p99")));
    const auto counted = report["window"]["steps"].get<uint64_t>();
    CHECK(steps.summary[0].find(words::Counted(counted, "step")) == 0);
    uint64_t drawn = steps.histogram.above;
    for (const uint64_t bin : steps.histogram.bins) drawn += bin;
    CHECK(drawn == counted);
    CHECK((steps.histogram.above > 0) == !steps.histogram.beyond.empty());
  }
  const RunFacts facts = BuildRunFacts(state);
  const auto spans = report["trust"]["spans"].get<uint64_t>();
  for (const FactGroup& group : facts.groups) {
    for (const Figure& fact : group.facts) {
      if (fact.name == "spans") CHECK(fact.text == words::Grouped(spans));
    }
  }
  uint64_t on_tracks = 0;
  for (const auto& row : facts.tracks.rows) {
    std::string digits = row[1].text;
    std::erase(digits, ',');
    on_tracks += std::stoull(digits);
  }
  CHECK(on_tracks <= spans);
  REQUIRE(facts.kernels.rows.size() == report["kernels"].size());
  for (size_t i = 0; i < facts.kernels.rows.size(); ++i) {
    CHECK(facts.kernels.rows[i][1].text ==
          words::Grouped(report["kernels"][i]["count"].get<uint64_t>()));
  }
  const Json& stall = report["breakdown"]["input_stall"];
  const StallsModel stalls = BuildStalls(state, 100);
  if (!stall.is_null()) {
    CHECK(stalls.total.find(words::BothNs(stall["ns"].get<int64_t>())) == 0);
  }
  const PipelineModel pipeline = BuildPipeline(state, 100);
  if (pipeline.nothing.empty()) {
    REQUIRE(pipeline.stages.rows.size() == report["stages"].size());
    for (size_t i = 0; i < pipeline.stages.rows.size(); ++i) {
      CHECK(pipeline.stages.rows[i][0].text == report["stages"][i]["name"]);
    }
  }
}

// A hatched stall covers what the device's own row shows as a stall, and the tooltip has its
// length.
void CheckStallBands(session::Session& session) {
  Do(session, intent::SetPanelSize{session::Panel::kTimeline, {1'000, 600, 8, 16}},
     intent::ShowPanel{session::Panel::kTimeline});
  const session::OpenRun& open = test::ActiveRun(session);
  if (open.whole.attribution->timelines.size() != 1) return;
  TimelineBuilder builder;
  const auto model = builder.Build(*session.state());
  const auto device = std::find_if(model->rows.begin(), model->rows.end(), [](const LaneRow& row) {
    return row.kind == LaneKind::kCategories;
  });
  if (device == model->rows.end()) return;
  for (const StallBand& band : model->stalls) {
    const auto x = static_cast<size_t>((band.x0 + band.x1) / 2);
    if (band.x1 - band.x0 < 3 || x >= device->texels.size()) continue;
    size_t inside = 0;
    size_t stalled = 0;
    for (auto k = static_cast<size_t>(std::ceil(band.x0)); k + 1 < static_cast<size_t>(band.x1);
         ++k) {
      ++inside;
      stalled += device->texels[k].paint == Paint::kInputStall ? 1U : 0U;
    }
    CHECK(stalled * 10 >= inside * 9);
    const TimelineHit hit = HitTest(*model, *session.state(), static_cast<double>(x) + 0.5,
                                    static_cast<double>(device->y + device->height / 2));
    if (!hit.slice.has_value() || !hit.step_row.has_value()) continue;
    const auto lines = TooltipOf(*model, *session.state(), hit);
    REQUIRE(lines.size() == 4);
    CHECK(lines[1] == words::BothNs(hit.slice->end_ns - hit.slice->start_ns));
  }
}

void CheckRange(session::Session& session) {
  const OverviewModel whole = BuildOverview(*session.state());
  const session::Range all = session.state()->view.visible;
  Do(session, intent::LimitRange{
                  session::Range{all.start_ns + all.ns() / 3, all.start_ns + all.ns() * 2 / 3}});
  session.Settle();
  const OverviewModel part = BuildOverview(*session.state());
  REQUIRE(part.advice.size() == whole.advice.size());
  for (size_t i = 0; i < part.advice.size(); ++i) {
    CHECK(part.advice[i].text == whole.advice[i].text);
    CHECK(part.advice[i].gain.factor == whole.advice[i].gain.factor);
  }
}

void CheckTrace(const std::string& path) {
  CAPTURE(path);
  session::SessionOptions options = test::QuietOptions();
  session::Session session(options);
  Do(session, intent::OpenFile{path, false});
  session.Settle();
  // What is no trace is another test's.
  if (test::ActiveRun(session).stage != session::OpenStage::kReady) return;
  const auto state = session.state();
  const Json report = report::ReportTree(*state->shown.report);
  CheckOverview(*state, report);
  CheckFindings(*state, report);
  CheckFigures(*state, report);
  CheckStallBands(session);
  CheckRange(session);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("every panel of a sample agrees with its report") {
    const auto paths = TracesIn(test::SourceDir() + "/sample_traces");
    CHECK(paths.size() > 15);
    for (const std::string& path : paths) CheckTrace(path);
  }

  TEST_CASE("every panel of a trace of the corpus agrees with its report") {
    const char* corpus = std::getenv("STALLSCOPE_CORPUS");
    if (corpus == nullptr) return test::Skip("STALLSCOPE_CORPUS is not set");
    for (const std::string& path : TracesIn(corpus)) CheckTrace(path);
  }

  TEST_CASE("figures of an emulated device are marked on every panel that has them") {
    session::Session session(test::QuietOptions());
    test::OpenAndSettle(session, test::SampleTrace("input_decode"));
    const session::State& state = *session.state();
    CHECK_FALSE(BuildOverview(state).assumed.empty());
    CHECK_FALSE(BuildFindings(state).assumed.empty());
    CHECK_FALSE(BuildRunFacts(state).assumed.empty());
    // The line below all panels.
    CHECK(TrustOf(*state.Active()).text.find("emulated device") != std::string::npos);
  }

  TEST_CASE("a device's track counts its kernels and copies") {
    session::Session session(test::QuietOptions());
    test::OpenAndSettle(session, test::SampleTrace("input_decode"));
    const RunFacts facts = BuildRunFacts(*session.state());
    const auto device = std::find_if(
        facts.tracks.rows.begin(), facts.tracks.rows.end(),
        [](const std::vector<TableCell>& row) { return row[0].text == "device 0 compute"; });
    REQUIRE(device != facts.tracks.rows.end());
    CHECK((*device)[1].text == "1,580");
  }
}
