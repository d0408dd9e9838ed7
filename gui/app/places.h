// Where the program finds its own files. Any thread.
#pragma once

#include <string>
#include <vector>

namespace stallscope::app {

// `stallscope`, beside this program; empty if it is missing.
std::string CommandLineProgram();
// The sample traces: of the installed tree, else of the checkout that the program was built in.
std::vector<std::string> SampleTraces();

}  // namespace stallscope::app
