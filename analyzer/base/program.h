// Where this program's own files are, and other programs. Any thread.
#pragma once

#include <string>
#include <vector>

namespace stallscope {

// The folder of this executable; empty if the kernel does not tell.
std::string ProgramFolder();

// Where the sample traces may be: of the installed tree, then of the checkout that the program was
// built in. None if its folder is unknown.
std::vector<std::string> SampleFolders();

// The executable file of this name in the first of `folders` that has one, which are separated by
// colons, as in $PATH; empty: none has.
std::string FindProgram(const std::string& name, const std::string& folders);

// $PATH; empty: it is not set.
std::string SearchPath();

}  // namespace stallscope
