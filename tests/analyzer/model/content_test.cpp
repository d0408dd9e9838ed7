#include "analyzer/model/content.h"

#include <doctest/doctest.h>

#include "analyzer/base/file.h"
#include "analyzer/model/loader.h"
#include "analyzer/trace/frame.h"
#include "tests/support/paths.h"

using stallscope::model::Content;
using stallscope::model::LooksLike;

TEST_SUITE("fast") {
  TEST_CASE("file kinds are recognized by content") {
    CHECK(LooksLike("") == Content::kEmpty);
    CHECK(LooksLike(stallscope::trace::EncodeFileHeader({})) == Content::kTrace);
    CHECK(LooksLike("\x1f\x8b\x08") == Content::kGzip);
    CHECK(LooksLike("PK\x03\x04zzz") == Content::kZip);
    CHECK(LooksLike(std::string("SQLite format 3\0\x10", 17)) == Content::kSqlite);
    CHECK(LooksLike("  \n{\"traceEvents\": []}") == Content::kJson);
    CHECK(LooksLike("\xef\xbb\xbf[1]") == Content::kJson);
    CHECK(LooksLike("just some text\n") == Content::kText);
    // An XSpace: field 1 (planes), 5,000 bytes of it.
    CHECK(LooksLike(std::string("\x0a\x88\x27\x08\x01\x12\x05/host") + std::string(99, '\0')) ==
          Content::kProtobuf);
    CHECK(LooksLike(std::string("\xff\xfe\xfd\x00\x01", 5)) == Content::kUnknown);
  }

  TEST_CASE("error for a foreign file: what it is and what to do") {
    stallscope::test::ScratchDir dir;
    const std::string path = dir / "run.sst";
    const auto line = [&](const std::string& content) {
      REQUIRE(stallscope::WriteFileAtomically(path, content).ok());
      const auto run = stallscope::model::LoadTrace(path);
      REQUIRE_FALSE(run.ok());
      CHECK(run.error().kind == stallscope::ErrorKind::kInput);
      return run.error().Line();
    };
    CHECK(line("\x1f\x8b\x08zz") ==
          path + ": this is not a trace: it looks like gzip; gunzip it first");
    CHECK(line("{}") ==
          path + ": this is not a trace: it looks like JSON; use a trace that stallscope recorded");
    CHECK(line("") == path + ": this is not a trace: the file is empty; record the run again");
  }
}
