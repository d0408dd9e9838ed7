// Databases whose schema means harm.
#include <doctest/doctest.h>

#include <cstdio>
#include <string>

#include "analyzer/base/file.h"
#include "analyzer/trace/limits.h"
#include "tests/analyzer/importers/nsys/made_database.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)
using test::MadeDatabase;

TEST_SUITE("fast") {
  TEST_CASE("a database of another program is an error that says so") {
    MadeDatabase database;
    database.Run("CREATE TABLE moz_places (id, url);");
    const auto run = database.Read();
    REQUIRE(!run.ok());
    CHECK(run.error().kind == ErrorKind::kInput);
    CHECK(run.error().Line().find("SQLite") != std::string::npos);
    CHECK(run.error().Line().find("nsys export --type sqlite") != std::string::npos);
  }

  TEST_CASE("views under a table's name are not run") {
    MadeDatabase database;
    database.Run(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end);"
        "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE n(start) AS "
        "  (SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT start, start AS end FROM n;");
    const model::Run run = database.Imported();
    CHECK(run.rows.kernels.empty());
    CHECK_FALSE(run.quality.Complete());
  }

  TEST_CASE("computed columns are not evaluated") {
    MadeDatabase database;
    database.Run(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, "
        "  end AS (length(hex(zeroblob(1000000)))), deviceId, streamId);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, deviceId, streamId) "
        "  VALUES (7, 0, 1);");
    const model::Run run = database.Imported();
    REQUIRE(run.rows.kernels.size() == 1);
    CHECK(run.rows.kernels[0].end_ns == 7);
    CHECK_FALSE(run.quality.Complete());
  }

  TEST_CASE("times at both ends of 64 bits give a run within the limits") {
    MadeDatabase database;
    database.Run(
        "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs, systemClockNs);"
        "INSERT INTO TARGET_INFO_SESSION_START_TIME "
        "  VALUES (9223372036854775807, -9223372036854775808);"
        "CREATE TABLE NVTX_EVENTS (start, end, eventType, text, textId, globalTid);"
        "INSERT INTO NVTX_EVENTS VALUES "
        "  (-9223372036854775808, 9223372036854775807, 59, 'step 1', NULL, 83886089),"
        "  (9223372036854775807, 9223372036854775807, 59, 'step 2', NULL, 83886089),"
        "  (10, 20, 59, 'step 3', NULL, 83886089);");
    const model::Run run = database.Imported();
    REQUIRE(run.rows.steps.size() == 2);
    CHECK(run.rows.steps[0].requested_ns == trace::kMinTimeNs);
    CHECK(run.rows.steps[1].device_done_ns == trace::kMaxTimeNs);
  }

  TEST_CASE("virtual tables do not count as tables") {
    MadeDatabase database;
    database.Run(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end);"
        "CREATE VIRTUAL TABLE CUPTI_ACTIVITY_KIND_KERNEL USING fts5(start, end);");
    const model::Run run = database.Imported();
    CHECK(run.rows.kernels.empty());
  }

  TEST_CASE("triggers do not fire and the file stays as it was") {
    MadeDatabase database;
    database.Run(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end);"
        "CREATE TRIGGER t AFTER INSERT ON CUPTI_ACTIVITY_KIND_MEMSET BEGIN "
        "  DELETE FROM CUPTI_ACTIVITY_KIND_MEMSET; END;");
    database.Close();
    const auto before = ReadWholeFile(database.path(), 1 << 20);
    REQUIRE(test::ReadNsysFile(database.path()).ok());
    CHECK(ReadWholeFile(database.path(), 1 << 20).value() == before.value());
  }

  TEST_CASE("values of the wrong type are converted") {
    MadeDatabase database;
    database.Run(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, "
        "  shortName);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('abc', x'00ff', NULL, 1e300, 'x'), "
        "  (9223372036854775807, -9223372036854775808, -1, 0, 99);");
    const model::Run run = database.Imported();
    CHECK(run.rows.kernels.size() == 2);
    CHECK(!run.quality.warnings.empty());
  }

  TEST_CASE("a truncated file is an error or yields what it has") {
    MadeDatabase database;
    database.Run("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId);");
    for (int i = 0; i < 50; ++i) {
      database.Run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + std::to_string(i) + ", " +
                   std::to_string(i + 1) + ", 0, 0);");
    }
    database.Close();
    const std::string whole = ReadWholeFile(database.path(), 1 << 20).value();
    for (size_t size = 100; size < whole.size(); size += 512) {
      REQUIRE(WriteFileAtomically(database.path(), whole.substr(0, size), Over::kOwnInput).ok());
      const auto run = test::ReadNsysFile(database.path());
      if (!run.ok()) CHECK(run.error().Line().find('\n') == std::string::npos);
    }
  }

  TEST_CASE("a long text that each row refers to is not read again for each") {
    MadeDatabase database;
    database.Run(
        "CREATE TABLE StringIds (id, value);"
        "CREATE TABLE NVTX_EVENTS (start, end, eventType, textId, globalTid);"
        "INSERT INTO StringIds VALUES (1, 'x' || hex(zeroblob(4000000)));"
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999) "
        "  INSERT INTO NVTX_EVENTS SELECT i, i + 1, 59, 1, 1 FROM n;");
    const model::Run run = database.Imported();
    CHECK(run.tracks[0].spans.size() == 10'000);
  }

  TEST_CASE("threads with colliding numbers cost no more than others") {
    MadeDatabase database;
    // Multiples of a size that hash tables of the standard library have.
    database.Run(
        "CREATE TABLE NVTX_EVENTS (start, end);"
        "CREATE TABLE ThreadNames (globalTid, nameId);"
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 499999) "
        "  INSERT INTO ThreadNames SELECT i * 712697, 1 FROM n;");
    CHECK(database.Read().ok());
  }

  TEST_CASE("a file name with URI characters opens that file") {
    const test::ScratchDir folder;
    const std::string path = folder / "a?mode=rwc&b#c d%41.sqlite";
    MadeDatabase database;
    database.Run("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end);");
    database.Close();
    REQUIRE(std::rename(database.path().c_str(), path.c_str()) == 0);
    CHECK(test::ReadNsysFile(path).ok());
  }

  TEST_CASE("rows lost to a broken page make the run incomplete") {
    MadeDatabase database;
    database.Run(
        "PRAGMA page_size = 1024;"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId);"
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999) "
        "  INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i, i + 1, 0, 0 FROM n;");
    database.Close();
    const std::string whole = ReadWholeFile(database.path(), 1 << 20).value();
    const auto sound = test::ReadNsysFile(database.path());
    REQUIRE(sound.ok());
    CHECK(sound.value().quality.Complete());
    CHECK(sound.value().rows.kernels.size() == 1'000);
    size_t broken = 0;
    for (size_t page = 1'024; page < whole.size(); page += 1'024) {
      for (const char fill : {'\0', '\xff', 'x'}) {
        std::string bytes = whole;
        bytes.replace(page, 1'024, 1'024, fill);
        REQUIRE(WriteFileAtomically(database.path(), bytes, Over::kOwnInput).ok());
        const auto run = test::ReadNsysFile(database.path());
        if (!run.ok()) continue;
        ++broken;
        CAPTURE(page);
        CHECK(run.value().rows.kernels.size() < 1'000);
        CHECK_FALSE(run.value().quality.Complete());
        CHECK(!run.value().quality.warnings.empty());
      }
    }
    CHECK(broken > 10);
  }

  TEST_CASE("rows still in a log beside the file make the run incomplete") {
    MadeDatabase database;
    database.Run(
        "PRAGMA journal_mode = WAL;"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 0, 0);"
        "PRAGMA wal_checkpoint(TRUNCATE);");
    // An empty log is what a program leaves that still has the file open.
    const auto before = test::ReadNsysFile(database.path());
    REQUIRE(before.ok());
    CHECK(before.value().quality.Complete());
    database.Run("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (3, 4, 0, 0);");
    const auto run = test::ReadNsysFile(database.path());
    REQUIRE(run.ok());
    CHECK(run.value().rows.kernels.size() == 1);
    CHECK_FALSE(run.value().quality.Complete());
    REQUIRE(run.value().quality.warnings.size() == 1);
    CHECK(run.value().quality.warnings[0].find("-wal") != std::string::npos);
    CHECK(run.value().quality.warnings[0].find("sqlite3") != std::string::npos);
    // Brought in, it is whole again.
    const auto after = database.Read();
    REQUIRE(after.ok());
    CHECK(after.value().rows.kernels.size() == 2);
    CHECK(after.value().quality.Complete());
  }

  TEST_CASE("a hot journal makes the run incomplete, a finished one does not") {
    MadeDatabase database;
    database.Run("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end);");
    database.Close();
    const std::string rest(4'096, '\0');
    const std::string journal = database.path() + "-journal";
    REQUIRE(WriteFileAtomically(journal, rest).ok());
    CHECK(test::ReadNsysFile(database.path()).value().quality.Complete());
    REQUIRE(WriteFileAtomically(journal, "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + rest).ok());
    CHECK_FALSE(test::ReadNsysFile(database.path()).value().quality.Complete());
  }
}
