// An SQLite file that a test writes itself, and what the importer makes of it.
#pragma once

#include <doctest/doctest.h>
#include <sqlite3.h>

#include <string>
#include <utility>

#include "analyzer/importers/foreign/byte_source.h"
#include "analyzer/importers/nsys/nsys.h"
#include "tests/support/paths.h"

namespace stallscope::test {

inline Result<model::Run> ReadNsysFile(const std::string& path) {
  auto source = importers::ByteSource::Open(path);
  if (!source.ok()) return std::move(source).error();
  return importers::nsys::ReadNsys(*source.value());
}

class MadeDatabase {
 public:
  MadeDatabase() : path_(folder_ / "made.sqlite") {
    REQUIRE(sqlite3_open(path_.c_str(), &handle_) == SQLITE_OK);
  }
  ~MadeDatabase() { Close(); }
  MadeDatabase(const MadeDatabase&) = delete;
  MadeDatabase& operator=(const MadeDatabase&) = delete;

  void Run(const std::string& sql) {
    char* message = nullptr;
    const int result = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, &message);
    const std::string said = message == nullptr ? "" : message;
    sqlite3_free(message);
    CAPTURE(said);
    CAPTURE(sql);
    REQUIRE(result == SQLITE_OK);
  }
  const std::string& path() const { return path_; }
  void Close() {
    sqlite3_close(handle_);
    handle_ = nullptr;
  }
  Result<model::Run> Read() {
    Close();
    return ReadNsysFile(path_);
  }
  model::Run Imported() {
    auto run = Read();
    REQUIRE(run.ok());
    return std::move(run).value();
  }

 private:
  ScratchDir folder_;
  std::string path_;
  sqlite3* handle_ = nullptr;
};

// The process 5 and its thread 9, as Nsight numbers them.
constexpr const char* kProcess = "83886080";  // 5 << 24
constexpr const char* kThread = "83886089";

}  // namespace stallscope::test
