#include <doctest/doctest.h>

#include <string>

#include "tests/analyzer/importers/nsys/made_database.h"

using namespace stallscope;  // NOLINT(google-build-using-namespace)
using test::MadeDatabase;

namespace {

// What an export of 2020 has of these tables: fewer columns, no enumerations, no schema version.
void OldTables(MadeDatabase& database) {
  database.Run(
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
      "INSERT INTO StringIds VALUES (1, 'relu_kernel'), (2, 'cudaLaunchKernel_v7000');"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, "
      "  streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, "
      "  shortName INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 150, 1, 7, 3, 83886080, 1, 1);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, "
      "  correlationId INTEGER, nameId INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (80, 90, 83886089, 3, 2);");
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("an old export without most tables is read") {
    MadeDatabase database;
    OldTables(database);
    const model::Run run = database.Imported();
    REQUIRE(run.rows.kernels.size() == 1);
    const trace::Kernel& kernel = run.rows.kernels[0];
    CHECK(kernel.start_ns == 100);
    CHECK(kernel.end_ns == 150);
    CHECK(kernel.enqueued_ns == 80);
    CHECK(run.Text(kernel.name) == "relu_kernel");
    CHECK(run.tracks[kernel.track.value].info.device == 1);
    CHECK(run.quality.warnings.empty());
    CHECK(run.format == "nsys");
  }

  TEST_CASE("memory kinds are Nsight's own") {
    MadeDatabase database;
    database.Run(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, correlationId, "
        "  globalPid, bytes, copyKind, srcKind, dstKind);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (0, 10, 0, 7, 1, 0, 100, 1, 0, 2), "
        "  (10, 20, 0, 7, 2, 0, 200, 1, 1, 2), (20, 30, 0, 7, 3, 0, 300, 2, 2, 1), "
        "  (30, 40, 0, 7, 4, 0, 400, 8, 2, 2), (40, 50, 0, 7, 5, 0, 500, 2, 2, NULL);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, streamId, globalPid);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (60, 65, 0, 7, 0);");
    const model::Run run = database.Imported();
    const auto& copies = run.rows.copies;
    REQUIRE(copies.size() == 5);
    CHECK(copies[0].memory == trace::CopyMemory::kPageable);
    CHECK(copies[1].memory == trace::CopyMemory::kPinned);
    CHECK(copies[2].memory == trace::CopyMemory::kPinned);
    CHECK(copies[2].direction == trace::CopyDirection::kDeviceToHost);
    CHECK(copies[3].direction == trace::CopyDirection::kDeviceToDevice);
    CHECK(copies[3].memory == trace::CopyMemory::kUnknown);
    CHECK(copies[4].memory == trace::CopyMemory::kUnknown);
    CHECK(run.tracks[copies[0].track.value].spans.size() == 1);
  }

  TEST_CASE("the file's own enumerations take precedence") {
    MadeDatabase database;
    database.Run(
        "CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER PRIMARY KEY, name TEXT, label TEXT);"
        "INSERT INTO ENUM_CUDA_MEM_KIND VALUES (5, 'CUDA_MEMOPR_MEMORY_KIND_PINNED', 'Pinned');"
        "CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER PRIMARY KEY, name TEXT, label TEXT);"
        "INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (9, 'CUDA_MEMCPY_KIND_HTOD', '');"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, bytes, copyKind, "
        "  srcKind, dstKind);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (0, 10, 0, 7, 100, 9, 5, 2);");
    const model::Run run = database.Imported();
    REQUIRE(run.rows.copies.size() == 1);
    CHECK(run.rows.copies[0].direction == trace::CopyDirection::kHostToDevice);
    CHECK(run.rows.copies[0].memory == trace::CopyMemory::kPinned);
  }

  TEST_CASE("columns are found by name, in any order and case") {
    MadeDatabase database;
    database.Run(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (streamId, END, brandNew, Start, deviceId, "
        "  shortName);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (7, 50, 'x', 40, 2, 1);");
    const model::Run run = database.Imported();
    REQUIRE(run.rows.kernels.size() == 1);
    CHECK(run.rows.kernels[0].start_ns == 40);
    CHECK(run.rows.kernels[0].end_ns == 50);
  }

  TEST_CASE("an unknown schema version is read with a warning, a known one without") {
    for (const auto& [version, warnings] :
         {std::pair("2.8.0", 1), std::pair("2.9.0", 0), std::pair("3.25.4", 0),
          std::pair("3.26.0", 1), std::pair("4.0", 1), std::pair("3.2.1", 0)}) {
      const std::string schema = version;
      CAPTURE(schema);
      MadeDatabase database;
      database.Run(
          "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
          "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '" +
          schema + "');");
      const model::Run run = database.Imported();
      CHECK(run.format_version == version);
      CHECK(static_cast<int>(run.quality.warnings.size()) == warnings);
    }
  }

  TEST_CASE("the wall clock comes from the session") {
    MadeDatabase database;
    OldTables(database);
    database.Run(
        "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs, systemClockNs);"
        "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1000000, 400);");
    const model::Run run = database.Imported();
    CHECK(run.info.start_realtime_ns == 1'000'000 - 400 + run.info.start_ns);
  }
}
