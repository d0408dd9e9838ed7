// How libFuzzer mutates a database: mostly by an SQL statement that changes, duplicates or drops a
// row, or adds a table of Nsight Systems, so that the file stays readable. The rest are changes of
// bytes, nearly all of which end in the library's own checks.
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/random.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using stallscope::test::Random;

constexpr std::array kTables = {
    "META_DATA_EXPORT(name,value)",
    "TARGET_INFO_GPU(name,totalMemory)",
    "TARGET_INFO_SESSION_START_TIME(utcEpochNs,systemClockNs)",
    "StringIds(id integer primary key,value)",
    "ThreadNames(globalTid,nameId)",
    "CUPTI_ACTIVITY_KIND_RUNTIME(start,end,globalTid,correlationId,nameId)",
    "CUPTI_ACTIVITY_KIND_KERNEL(start,end,deviceId,streamId,correlationId,globalPid,shortName,"
    "demangledName,graphId)",
    "CUPTI_ACTIVITY_KIND_MEMCPY(start,end,deviceId,streamId,correlationId,globalPid,bytes,copyKind,"
    "srcKind,dstKind)",
    "CUPTI_ACTIVITY_KIND_MEMSET(start,end,deviceId,streamId,globalPid)",
    "NVTX_EVENTS(start,end,eventType,text,textId,globalTid)",
    "OSRT_API(start,end,globalTid,nameId)",
    "CUDNN_EVENTS(start,end,globalTid,nameId)",
    "CUBLAS_EVENTS(start,end,globalTid,nameId)",
    "ENUM_CUDA_MEMCPY_OPER(id,name)",
    "ENUM_CUDA_MEM_KIND(id,name)"};

// What the importer looks for in a text, invalid times, a process and its threads.
constexpr std::array kValues = {"null",
                                "0",
                                "1",
                                "2",
                                "59",
                                "60",
                                "83886080",
                                "83886089",
                                "83886099",
                                "100",
                                "1e300",
                                "4611686018427387904",
                                "9223372036854775807",
                                "-9223372036854775808",
                                "-1",
                                "x'ff00fe'",
                                "'cudaLaunchKernel'",
                                "'cudaMemcpyAsync'",
                                "'read'",
                                "'pthread_cond_wait'",
                                "'step 1'",
                                "'iteration 18446744073709551615'",
                                "'ProfilerStep#3'",
                                "'data loading'",
                                "'dataloader'",
                                "'forward'",
                                "'aten::copy_, op_id = 7'",
                                "'CUDA_MEMCPY_KIND_HTOD'",
                                "'CUDA_MEMOPR_MEMORY_KIND_PINNED'",
                                "'EXPORT_SCHEMA_VERSION'",
                                "'3.99999999999'"};

class Database {
 public:
  explicit Database(std::string_view bytes) {
    constexpr int kFlags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(":memory:", &handle_, kFlags, nullptr) != SQLITE_OK) return;
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    // Stops what goes in circles.
    sqlite3_progress_handler(
        handle_, 10'000, [](void*) { return 1; }, nullptr);
    auto* const copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size() + 1));
    std::copy(bytes.begin(), bytes.end(), copy);
    const auto size = static_cast<sqlite3_int64>(bytes.size());
    sqlite3_deserialize(handle_, "main", copy, size, size,
                        SQLITE_DESERIALIZE_RESIZEABLE | SQLITE_DESERIALIZE_FREEONCLOSE);
  }
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  bool Run(const std::string& sql) {
    return sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  }
  // The `name` columns of the statement's result.
  std::vector<std::string> Names(const std::string& sql) {
    std::vector<std::string> texts;
    const auto take = [](void* into, int count, char** values, char** columns) {
      for (int i = 0; i < count; ++i) {
        if (std::strcmp(columns[i], "name") != 0 || values[i] == nullptr) continue;
        static_cast<std::vector<std::string>*>(into)->emplace_back(values[i]);
      }
      return 0;
    };
    sqlite3_exec(handle_, sql.c_str(), take, &texts, nullptr);
    return texts;
  }
  std::string Bytes() {
    sqlite3_int64 size = 0;
    unsigned char* const bytes = sqlite3_serialize(handle_, "main", &size, 0);
    if (bytes == nullptr) return {};
    std::string all(reinterpret_cast<const char*>(bytes), static_cast<size_t>(size));
    sqlite3_free(bytes);
    return all;
  }

 private:
  sqlite3* handle_ = nullptr;
};

std::string Quoted(const std::string& name) { return "\"" + name + "\""; }

template <class List>
const auto& OneOf(const List& list, Random& random) {
  return list[random.Below(list.size())];
}

bool Change(Database& database, Random& random) {
  const auto tables = database.Names("select name from sqlite_master where type = 'table'");
  if (tables.empty() || random.OneIn(12)) {
    return database.Run(std::string("create table ") + OneOf(kTables, random));
  }
  const std::string table = OneOf(tables, random);
  const std::string row = " where rowid = (select rowid from " + Quoted(table) +
                          " limit 1 offset " + std::to_string(random.Below(5)) + ")";
  const auto columns = database.Names("pragma table_info(" + Quoted(table) + ")");
  if (columns.empty()) return false;
  const std::string column = Quoted(OneOf(columns, random));
  const auto set = [&](const std::string& value) {
    const std::string all = random.OneIn(8) ? "" : row;
    return database.Run("update " + Quoted(table) + " set " + column + " = " + value + all);
  };
  switch (random.Below(8)) {
    case 0:
      return database.Run("insert into " + Quoted(table) + " default values");
    case 1:
      return database.Run("insert into " + Quoted(table) + " select * from " + Quoted(table) + row);
    case 2:
      return database.Run("delete from " + Quoted(table) + row);
    case 3:
      return set(std::to_string(static_cast<int64_t>(random.OfAnyLength())));
    case 4:
      return set(column + " + " + std::to_string(random.Below(100)) + " - 50");
    case 5:
      return set("(select " + Quoted(OneOf(columns, random)) + " from " + Quoted(table) +
                 " limit 1 offset " + std::to_string(random.Below(5)) + ")");
    default:
      return set(OneOf(kValues, random));
  }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  Random random(seed);
  if (random.OneIn(4)) return LLVMFuzzerMutate(data, size, max_size);
  Database database({reinterpret_cast<const char*>(data), size});
  bool changed = false;
  for (uint64_t i = random.Below(2) + 1; i > 0; --i) changed = Change(database, random) || changed;
  const std::string bytes = changed ? database.Bytes() : std::string();
  if (bytes.empty() || bytes.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}
