// Where the program finds what belongs to it. Any thread.
#ifndef STALLSCOPE_GUI_APP_PLACES_H_
#define STALLSCOPE_GUI_APP_PLACES_H_

#include <string>
#include <vector>

namespace stallscope::app {

// The folder of this program's own file; empty where the kernel does not say.
std::string ProgramFolder();
// `stallscope`, beside this program; empty where it is not there.
std::string CommandLineProgram();
// The sample traces: of the installed tree, else of the checkout that the program was built in.
std::vector<std::string> SampleTraces();

}  // namespace stallscope::app

#endif  // STALLSCOPE_GUI_APP_PLACES_H_
