// Whether what is said of one run agrees with itself: verdict, breakdown, blame, findings, their
// order, units and gains. A new check is one function in consistency.cpp, for all runs.
#pragma once

#include <string>
#include <vector>

#include "analyzer/report/report.h"
#include "replay/whatif/price.h"

namespace stallscope::test {

// A run with all that is said of it.
struct Told {
  model::Run run;
  attribution::Attribution attribution;
  replay::Answer answer;
  report::Report report;
};

// The sample traces, and with STALLSCOPE_CORPUS every trace below it.
std::vector<std::string> SampleTraces();
std::vector<std::string> CorpusTraces();

Result<Told> Tell(const std::string& trace);

// Each contradiction as a sentence; none if all agrees.
std::vector<std::string> ContradictionsIn(const Told& told);

}  // namespace stallscope::test
