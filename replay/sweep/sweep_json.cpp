#include "replay/sweep/sweep_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "analyzer/base/escape.h"
#include "analyzer/base/lines.h"
#include "analyzer/spec/json_text.h"
#include "analyzer/spec/patch.h"
#include "analyzer/spec/spec_json.h"
#include "replay/sweep/plan.h"
#include "replay/sweep/sweep.h"

namespace stallscope::replay {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "stallscope.sweep/1";
constexpr std::string_view kPointsBegin = "\"points\": [\n";

// A knob's text as the value that it is: 4, true, ["flip"]; a bare word stays a text.
Json KnobJson(const std::string& text) {
  Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? Json(text) : value;
}

std::string KnobTextOf(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

Json RateJson(const Rate& rate) {
  return {{"samples_per_s", rate.samples_per_s}, {"low", rate.low}, {"high", rate.high}};
}

Json RateOrNull(const std::optional<Rate>& rate) {
  return rate.has_value() ? RateJson(*rate) : Json();
}

Json FigureJson(const RunFigure& run) {
  Json figure = RateJson(run.rate);
  figure["steps"] = run.steps;
  figure["memory_bytes"] = run.memory_bytes;
  figure["host"] = run.host;
  figure["others"] = run.others;
  figure["from_disk"] = run.from_disk;
  if (run.stored_samples > 0) {
    figure["stored_samples"] = run.stored_samples;
    figure["stored_s"] = run.stored_s;
  }
  return figure;
}

RunFigure FigureFrom(const Json& run) {
  return {{run.at("samples_per_s").get<double>(), run.at("low").get<double>(),
           run.at("high").get<double>()},
          run.at("steps").get<uint64_t>(),
          run.at("memory_bytes").get<uint64_t>(),
          run.at("host").get<std::string>(),
          run.value("others", 0.0),
          run.value("from_disk", 0.0),
          run.value("stored_samples", uint64_t{0}),
          run.value("stored_s", 0.0)};
}

Json PointJson(const Point& point) {
  Json json = Json::object();
  if (!point.name.empty()) json["name"] = point.name;
  if (point.patch.has_value()) {
    json["patch"] = Json::parse(WritePatch(*point.patch, JsonLayout::kOneLine));
  } else {
    json["set"] = Json::object();
    for (const Setting& setting : point.set) json["set"][setting.path] = KnobJson(setting.value);
  }
  if (point.cores > 0) json["cores"] = point.cores;
  json["predicted"] = RateOrNull(point.predicted);
  json["measured"] = RateOrNull(Measured(point));
  json["memory_bytes"] = OrNull(MemoryOf(point));
  json["predicted_memory_bytes"] = OrNull(point.predicted_memory_bytes);
  json["digest"] = TextOrNull(point.digest);
  json["verdict"] = TextOrNull(point.verdict);
  json["error"] = TextOrNull(point.error);
  json["unpriced"] = TextOrNull(point.unpriced);
  json["probed"] = point.probed;
  if (point.filled.has_value()) json["filled"] = FigureJson(*point.filled);
  json["runs"] = Json::array();
  for (const RunFigure& run : point.runs) json["runs"].push_back(FigureJson(run));
  return json;
}

std::string OneLine(const Json& json) { return JsonText(json, -1); }

Json AxesJson(const Sweep& sweep) {
  Json axes = Json::array();
  for (const Axis& axis : sweep.axes) {
    Json values = Json::array();
    for (const std::string& value : axis.values) values.push_back(KnobJson(value));
    axes.push_back({{"path", axis.path}, {"values", std::move(values)}});
  }
  return axes;
}

Json ErrorsJson(const PredictionErrors& errors) {
  return {{"points", errors.points},
          {"median", OrNull(errors.median)},
          {"p95", OrNull(errors.p95)},
          {"covered", OrNull(errors.covered)},
          {"median_half_width", OrNull(errors.median_half_width)},
          {"best_within", OrNull(errors.best_within)},
          {"unpriced", errors.unpriced},
          {"failed", errors.failed}};
}

std::string TextAt(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found == json.end() || found->is_null() ? "" : found->get<std::string>();
}

std::optional<Rate> RateAt(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) return std::nullopt;
  return Rate{found->at("samples_per_s").get<double>(), found->at("low").get<double>(),
              found->at("high").get<double>()};
}

Point PointFrom(const Json& json) {
  Point point;
  point.name = TextAt(json, "name");
  if (json.contains("patch")) {
    auto patch = ReadPatch(json.at("patch").dump(), "patch");
    if (!patch.ok()) throw std::runtime_error(patch.error().Line());
    point.patch = std::move(patch).value();
  }
  if (json.contains("set")) {
    for (const auto& [path, value] : json.at("set").items()) {
      point.set.push_back({path, KnobTextOf(value)});
    }
  }
  point.cores = json.value("cores", 0);
  point.predicted = RateAt(json, "predicted");
  const auto memory = json.find("predicted_memory_bytes");
  if (memory != json.end() && !memory->is_null()) {
    point.predicted_memory_bytes = memory->get<uint64_t>();
  }
  point.digest = TextAt(json, "digest");
  point.verdict = TextAt(json, "verdict");
  point.error = TextAt(json, "error");
  point.unpriced = TextAt(json, "unpriced");
  point.probed = json.value("probed", false);
  if (json.contains("filled")) point.filled = FigureFrom(json.at("filled"));
  for (const Json& run : json.value("runs", Json::array())) point.runs.push_back(FigureFrom(run));
  return point;
}

// Everything but the points.
Sweep HeadFrom(const Json& json) {
  Sweep sweep;
  sweep.trace = json.at("trace").get<std::string>();
  sweep.name = TextAt(json, "name");
  sweep.recorded_ns = json.at("recorded_ns").get<int64_t>();
  const auto kind = SweepKindOf(json.at("kind").get<std::string>());
  const auto mode = SweepModeOf(json.at("mode").get<std::string>());
  if (!kind || !mode) throw std::runtime_error("unknown kind or mode");
  sweep.kind = *kind;
  sweep.mode = *mode;
  sweep.emulated = json.at("emulated").get<bool>();
  sweep.first_epoch = json.value("first_epoch", false);
  sweep.repeats = json.at("repeats").get<unsigned>();
  sweep.counts_steps = TextAt(json, "counted") == "steps";
  sweep.job = TextAt(json, "job");
  sweep.warnings = json.value("warnings", std::vector<std::string>());
  if (!json.at("spec").is_null()) sweep.spec_json = json.at("spec").dump();
  for (const Json& axis : json.at("axes")) {
    Axis read{axis.at("path").get<std::string>(), {}};
    for (const Json& value : axis.at("values")) read.values.push_back(KnobTextOf(value));
    sweep.axes.push_back(std::move(read));
  }
  const Json& base = json.at("base");
  if (base.is_number_unsigned()) {
    sweep.base_point = base.get<size_t>();
  } else {
    sweep.base = PointFrom(base);
  }
  return sweep;
}

Result<Sweep> Checked(Sweep sweep, const std::string& name) {
  if (sweep.base_point.has_value() && *sweep.base_point >= sweep.points.size()) {
    // It was cut off with its point; the caller recreates the points and finds it again.
    sweep.base_point.reset();
  }
  if (sweep.repeats == 0) {
    return Error{ErrorKind::kInput, "the sweep has no repeats", name, "start it again"};
  }
  return sweep;
}

// The lines that are whole, of a text that is not.
Result<SweepText> ReadCutOff(std::string_view text, const std::string& name) {
  const size_t begin = text.find(kPointsBegin);
  const Error lost{ErrorKind::kInput, "not a sweep, or cut off before its points", name,
                   "give a file that stallscope replay wrote, or start again"};
  if (begin == std::string_view::npos) return lost;
  Json head = Json::parse(std::string(text.substr(0, begin)) + "\"points\": []}", nullptr, false);
  if (head.is_discarded() || TextAt(head, "schema") != kSchema) return lost;
  SweepText read{HeadFrom(head), false};
  for (std::string_view line : SplitLines(text.substr(begin + kPointsBegin.size()))) {
    while (!line.empty() && (line.back() == ',' || line.back() == '\r')) line.remove_suffix(1);
    const Json point = Json::parse(line, nullptr, false);
    if (point.is_discarded() || !point.is_object()) break;
    read.sweep.points.push_back(PointFrom(point));
  }
  STALLSCOPE_ASSIGN_OR_RETURN(read.sweep, Checked(std::move(read.sweep), name));
  return read;
}

Result<SweepText> ReadEither(std::string_view text, const std::string& name) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return ReadCutOff(text, name);
  if (!json.is_object() || TextAt(json, "schema") != kSchema) {
    return Error{ErrorKind::kInput, "not a sweep", name,
                 "give a file that stallscope replay wrote"};
  }
  SweepText read{HeadFrom(json), true};
  for (const Json& point : json.at("points")) read.sweep.points.push_back(PointFrom(point));
  STALLSCOPE_ASSIGN_OR_RETURN(read.sweep, Checked(std::move(read.sweep), name));
  return read;
}

}  // namespace

std::string WriteSweep(const Sweep& sweep) {
  std::string text = "{\n";
  const auto add = [&](const char* key, const Json& value) {
    text += "\"" + std::string(key) + "\": " + OneLine(value) + ",\n";
  };
  add("schema", kSchema);
  add("trace", sweep.trace);
  add("name", TextOrNull(sweep.name));
  add("recorded_ns", sweep.recorded_ns);
  add("kind", WordFor(sweep.kind));
  add("mode", WordFor(sweep.mode));
  add("emulated", sweep.emulated);
  if (sweep.first_epoch) add("first_epoch", true);
  add("repeats", sweep.repeats);
  add("counted", sweep.counts_steps ? "steps" : "samples");
  add("job", TextOrNull(sweep.job));
  add("spec", sweep.spec_json.empty() ? Json() : Json::parse(sweep.spec_json));
  add("axes", AxesJson(sweep));
  add("complete", IsComplete(sweep));
  add("warnings", sweep.warnings);
  add("errors", ErrorsJson(ErrorsOf(sweep)));
  const auto spec = ReadAnySpec(sweep.spec_json, sweep.trace);
  const bool verified = sweep.kind == SweepKind::kVerify && spec.ok();
  add("best", OrNull(verified ? BestOf(spec.value(), sweep) : std::nullopt));
  add("base", sweep.base_point.has_value() ? Json(*sweep.base_point) : PointJson(sweep.base));
  text += kPointsBegin;
  for (size_t i = 0; i < sweep.points.size(); ++i) {
    text += OneLine(PointJson(sweep.points[i])) + (i + 1 < sweep.points.size() ? ",\n" : "\n");
  }
  return text + "]\n}\n";
}

Result<SweepText> ReadSweep(std::string_view text, const std::string& name) {
  try {
    return ReadEither(text, name);
  } catch (const std::exception& error) {
    // The library's, of a value of another type than the schema has.
    return Error{ErrorKind::kInput, std::string("cannot read the sweep: ") + error.what(), name,
                 "give a file that stallscope replay wrote, or start again"};
  }
}

}  // namespace stallscope::replay
