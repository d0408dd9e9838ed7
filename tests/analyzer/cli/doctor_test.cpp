#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/paths.h"
#include "tests/support/program.h"

using stallscope::test::ProgramResult;
using stallscope::test::RunStallscope;
namespace test = stallscope::test;

namespace {

// Of the libraries that it loads, CUDA's keep storage of their threads where the sanitizer's search
// for leaks may read beyond it, and ends the program: whether it does depends on the layout of the
// binary. There is nothing of ours in it.
ProgramResult Doctor(std::vector<std::string> arguments = {},
                     std::vector<std::string> environment = {}) {
  arguments.insert(arguments.begin(), "doctor");
  environment.emplace_back("LSAN_OPTIONS=detect_leaks=0");
  return RunStallscope(std::move(arguments), environment);
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("doctor prints a table of at most 80 columns") {
    const ProgramResult result = Doctor();
    CAPTURE(result.err);
    CHECK(result.exit_code == 0);
    CHECK(result.signal == 0);
    CHECK(result.err.empty());
    CHECK(result.out.find("clock") != std::string::npos);
    CHECK(result.out.find("\ncuda module ") != std::string::npos);
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) {
      // A path is for copying.
      const bool path =
          line.find('/') != std::string::npos && line.find(' ', 34) == std::string::npos;
      if (!path) CHECK_MESSAGE(line.size() <= 80, line);
      CHECK_MESSAGE((line.empty() || line.back() != ' '), line);
    }
  }

  TEST_CASE("doctor reports what the CUDA module finds, or why there is none") {
    const ProgramResult result = Doctor();
    const bool has_module = result.out.find("\ncuda module   ok") != std::string::npos ||
                            result.out.find("stallscope_cuda.so") != std::string::npos;
    const bool says_none = result.out.find("no CUDA module in this build") != std::string::npos;
    CHECK(has_module != says_none);
    CHECK((result.out.find("\ncuda driver ") != std::string::npos) == has_module);
    CHECK((result.out.find("\ncublaslt ") != std::string::npos) == has_module);
    CHECK((result.out.find("\ncupti ") != std::string::npos) == has_module);

    const test::ScratchDir dir;
    std::ofstream(dir / "stallscope_cuda.so") << "no library";
    setenv("STALLSCOPE_CUDA_MODULE", (dir / "stallscope_cuda.so").c_str(), 1);
    const ProgramResult broken = Doctor();
    unsetenv("STALLSCOPE_CUDA_MODULE");
    CHECK(broken.exit_code == 0);
    CHECK(broken.out.find("the CUDA module cannot be loaded") != std::string::npos);
    CHECK(broken.out.find("\ncuda driver ") == std::string::npos);
  }

  TEST_CASE("doctor's JSON has the checks and the counters") {
    const ProgramResult result = Doctor({"--format", "json"});
    CHECK(result.exit_code == 0);
    const auto report = nlohmann::json::parse(result.out, nullptr, false);
    REQUIRE_FALSE(report.is_discarded());
    CHECK(report["schema"] == "stallscope.doctor/1");
    CHECK(report["predictions"]["pipelines"]["verified"].is_number_unsigned());
    CHECK(report["predictions"]["jobs"]["widening"].is_number());
    for (const auto& check : report["checks"]) {
      const std::string state = check["state"];
      CHECK((state == "ok" || state == "missing" || state == "limited"));
      CHECK_FALSE(check["name"].get<std::string>().empty());
      CHECK_FALSE(check["detail"].get<std::string>().empty());
      CHECK(check["advice"].is_string());
    }
    bool found = false;
    for (const auto& counter : report["counters"]) {
      CHECK(counter["present"].get<bool>() == counter["reason"].get<std::string>().empty());
      found = found || (counter["name"] == "memory.rss" && counter["unit"] == "bytes" &&
                        counter["kind"] == "gauge" && counter["present"] == true);
    }
    CHECK(found);
  }

  TEST_CASE("doctor names the job's Python, and never fails because of it") {
    const test::ScratchDir dir;
    const auto doctor = [&](const std::string& script) {
      std::ofstream(dir / "python") << "#!/bin/sh\n" << script;
      std::filesystem::permissions(dir / "python", std::filesystem::perms::owner_all);
      return Doctor({}, {"PATH=" + dir.path(), "VIRTUAL_ENV="});
    };
    const ProgramResult good = doctor("echo Python 3.11.2; echo torch 2.6.0+cu124\n");
    CHECK(good.exit_code == 0);
    CHECK(good.out.find("\npython ") != std::string::npos);
    CHECK(good.out.find("torch 2.6.0+cu124") != std::string::npos);
    const ProgramResult broken = doctor("exit 1\n");
    CHECK(broken.exit_code == 0);
    CHECK(broken.out.find("--version") != std::string::npos);
    for (const ProgramResult& result : {good, broken}) {
      std::istringstream lines(result.out);
      for (std::string line; std::getline(lines, line);) {
        CHECK_MESSAGE((line.size() <= 80 || line.find(' ', 34) == std::string::npos), line);
      }
    }
  }

  TEST_CASE("doctor rejects unknown formats") {
    const ProgramResult result = Doctor({"--format", "xml"});
    CHECK(result.exit_code == 2);
    CHECK(result.out.empty());
    CHECK(result.err.find("xml") != std::string::npos);
  }
}
