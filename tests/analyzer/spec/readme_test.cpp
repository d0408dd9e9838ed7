// The tables of the room's README are those of spec.proto.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>

#include "analyzer/base/file.h"
#include "analyzer/spec/knobs.h"
#include "analyzer/spec/ops.h"
#include "analyzer/spec/spec_json.h"
#include "tests/analyzer/spec/specs.h"
#include "tests/support/paths.h"

using stallscope::KnobInfo;
using stallscope::KnobType;

namespace {

std::string Number(double value) {
  char text[32];
  const bool whole = value == std::floor(value) && value < 1e16;
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%g", value);
  return text;
}

std::string Takes(const KnobInfo& knob) {
  std::string takes;
  switch (knob.type) {
    case KnobType::kInteger:
    case KnobType::kNumber:
      takes = Number(knob.range->min) + " to " + Number(knob.range->max);
      if (knob.type == KnobType::kNumber) takes += ", fractions too";
      if (knob.tunable) takes += ", `auto`";
      return takes;
    case KnobType::kBoolean:
      return "true, false";
    case KnobType::kWord:
      for (const auto& word : knob.words) takes += (takes.empty() ? "`" : ", `") + word + '`';
      return takes;
    case KnobType::kText:
      return "string";
    case KnobType::kList:
      return "list of strings";
    case KnobType::kTable:
      return "strings by name";
  }
  return takes;
}

std::string FieldTable() {
  std::string table = "| path | takes | default | |\n|---|---|---|---|\n";
  for (const KnobInfo& knob : stallscope::ListKnobs(stallscope::test::OneOfEach())) {
    std::string fallback = knob.required ? "must be given" : knob.default_value;
    if (fallback.empty()) fallback = "empty";
    table +=
        "| `" + knob.path + "` | " + Takes(knob) + " | " + fallback + " | " + knob.doc + " |\n";
  }
  return table;
}

std::string OpTable() {
  std::string table = "| op | in | |\n|---|---|---|\n";
  for (const auto& op : stallscope::KnownOps()) {
    std::string call(op.name);
    std::string list;
    for (const auto& parameter : op.parameters) {
      list += (list.empty() ? "" : ", ") + std::string(parameter.name);
      if (!parameter.default_text.empty()) list += '=' + std::string(parameter.default_text);
    }
    if (!list.empty()) call += '(' + list + ')';
    const char* in = op.role == stallscope::OpRole::kEither   ? "map, filter"
                     : op.role == stallscope::OpRole::kFilter ? "filter"
                     : op.on_device                           ? "map, on the device too"
                                                              : "map";
    table += "| `" + call + "` | " + in + " | " + std::string(op.doc) + " |\n";
  }
  return table;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("the README's whole spec is read, and has every part of a spec") {
    const auto readme = stallscope::ReadWholeFile(
        stallscope::test::SourceDir() + "/analyzer/spec/README.md", 1 << 20);
    REQUIRE(readme.ok());
    const size_t begin = readme.value().find("```json\n") + 8;
    const std::string text =
        readme.value().substr(begin, readme.value().find("```", begin) - begin);
    const auto spec = stallscope::ReadSpec(text, "README.md");
    if (!spec.ok()) FAIL(spec.error().Line());
    CHECK(spec.value().stages.size() == 6);
    for (const char* part :
         {"name", "seed", "stages", "transfer", "trainer", "rewrites", "budget"}) {
      CHECK_MESSAGE(text.find("\"" + std::string(part) + "\":") != std::string::npos, part);
    }
  }

  TEST_CASE("the tables of the README are those of the code") {
    const auto readme = stallscope::ReadWholeFile(
        stallscope::test::SourceDir() + "/analyzer/spec/README.md", 1 << 20);
    REQUIRE(readme.ok());
    for (const std::string& table : {FieldTable(), OpTable()}) {
      const bool there = (readme.value() + '\n').find('\n' + table + '\n') != std::string::npos;
      CHECK_MESSAGE(there, "put this into analyzer/spec/README.md:\n" << table);
    }
  }
}
