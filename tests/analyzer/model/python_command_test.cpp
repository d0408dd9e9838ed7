#include "analyzer/model/python_command.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using stallscope::model::PythonCommandOf;

namespace {

std::string IsolatingIn(const std::vector<std::string>& arguments) {
  const auto command = PythonCommandOf(arguments);
  REQUIRE(command.has_value());
  return command->isolating;
}

bool ReadsProgram(const std::vector<std::string>& arguments) {
  const auto command = PythonCommandOf(arguments);
  REQUIRE(command.has_value());
  return command->reads_program;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("flags of Python that leave out PYTHONPATH or site are its own, not the program's") {
    CHECK(IsolatingIn({"/usr/bin/python3", "-I", "train.py"}) == "-I");
    CHECK(IsolatingIn({"python3.12", "-W", "ignore", "-sE", "train.py"}) == "-sE");
    CHECK(IsolatingIn({"python", "-Sc", "import train"}) == "-Sc");
    CHECK(IsolatingIn({"python", "train.py", "-I"}).empty());
    CHECK(IsolatingIn({"python", "-Wignore::ImportWarning", "-u", "train.py"}).empty());
    CHECK(IsolatingIn({"python", "-c", "-I"}).empty());
    CHECK(IsolatingIn({"python", "-W", "-I", "-m", "train", "-E"}).empty());
  }

  TEST_CASE("Python reads its program from standard input if it is given none") {
    CHECK(ReadsProgram({"python"}));
    CHECK(ReadsProgram({"/usr/bin/python3", "-u", "-", "--epochs", "2"}));
    CHECK(ReadsProgram({"python", "-W", "ignore"}));
    CHECK_FALSE(ReadsProgram({"python", "-W", "ignore", "train.py", "-"}));
    CHECK_FALSE(ReadsProgram({"python", "-um", "train"}));
    CHECK_FALSE(ReadsProgram({"python", "-c", "import train"}));
  }

  TEST_CASE("other programs are not Python") {
    CHECK_FALSE(PythonCommandOf(std::vector<std::string>{}).has_value());
    CHECK_FALSE(PythonCommandOf(std::vector<std::string>{"sort", "-S", "1G"}).has_value());
    CHECK_FALSE(PythonCommandOf(std::vector<std::string>{"./train", "-"}).has_value());
  }
}
