// An imported run and what the analysis says of it.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/findings/findings.h"

namespace stallscope::test {

struct Judged {
  model::Run run;
  attribution::Attribution attribution;
  findings::Verdict verdict;
  std::vector<findings::Finding> found;

  // Null where no rule of this name spoke.
  const findings::Finding* FindingOf(const std::string& id) const {
    const auto at = std::find_if(found.begin(), found.end(),
                                 [&](const findings::Finding& f) { return f.id == id; });
    return at == found.end() ? nullptr : &*at;
  }
};

inline Judged Judge(Result<model::Run> run) {
  REQUIRE(run.ok());
  Judged judged{std::move(run).value(), {}, {}, {}};
  judged.attribution = attribution::Attribute(judged.run);
  judged.verdict = findings::VerdictOn(judged.run, judged.attribution);
  judged.found =
      findings::Find({judged.run, judged.attribution, judged.verdict, std::nullopt}, true);
  return judged;
}

}  // namespace stallscope::test
