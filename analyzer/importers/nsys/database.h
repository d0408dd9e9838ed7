// An untrusted SQLite file, opened for reading and nothing else.
//
// No extensions, triggers, views, functions in the schema, or writing; cells of at most 16 MiB, and
// no more of them than the file has bytes for. Columns are requested by name, and a missing table
// or column is normal; computed columns, views and the contents of a -wal or -journal beside the
// file are not read and count as damage. With the library's defaults, a file's author could run
// code through its schema. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/base/result.h"
#include "analyzer/importers/foreign/byte_source.h"

struct sqlite3;
struct sqlite3_stmt;

namespace stallscope::importers::nsys {

// The values of a row. Valid until the next row.
class Row {
 public:
  Row(sqlite3_stmt* statement, uint64_t& odd_values)
      : statement_(statement), odd_values_(odd_values) {}
  bool IsNull(int column) const;
  int64_t Int(int column) const;  // 0 if null; converted if not a whole number
  std::string_view Text(int column) const;

 private:
  sqlite3_stmt* statement_;
  uint64_t& odd_values_;
};

class Database {
 public:
  // `source` must outlive it.
  static Result<std::unique_ptr<Database>> Open(ByteSource& source);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  bool Has(std::string_view table) const { return tables_.count(std::string(table)) != 0; }

  // Calls take(row) for each row of the table, with the columns in the requested order; a missing
  // one reads as null. Returns the number of rows, which is 0 if there is no such table; if the
  // file is damaged, those before the damage, which damage() describes.
  template <class Take>
  uint64_t ForEach(std::string_view table, const std::vector<std::string_view>& columns,
                   Take&& take) {
    Scan scan(*this, table, columns);
    uint64_t rows = 0;
    while (scan.Next()) {
      take(Row(scan.statement(), odd_values_));
      ++rows;
    }
    return rows;
  }
  // What is not read, and what ForEach ran into: one line per table.
  const std::vector<std::string>& damage() const { return damage_; }
  // Values requested by Row::Int that are not whole numbers.
  uint64_t odd_values() const { return odd_values_; }
  // Reading stops when the file's allowance is spent; this reports it.
  Status CheckAllowance() const { return source_.CheckAllowance(); }

 private:
  struct Columns {
    std::vector<std::string> stored;
    std::vector<std::string> computed;  // or hidden
  };
  class Scan {
   public:
    Scan(Database& database, std::string_view table, const std::vector<std::string_view>& columns);
    ~Scan();
    Scan(const Scan&) = delete;
    Scan& operator=(const Scan&) = delete;
    bool Next();
    sqlite3_stmt* statement() const { return statement_; }

   private:
    void Fail(const std::string& why);
    bool CellsFit();
    Database& database_;
    std::string table_;
    sqlite3_stmt* statement_ = nullptr;
  };

  explicit Database(ByteSource& source) : source_(source) {}
  Status ReadSchema(const std::string& path);
  void ReadColumns(const std::string& table, Columns& columns);
  void LookBeside(const std::string& path);

  ByteSource& source_;
  std::string content_;  // of a packed file; the library reads it in place
  sqlite3* handle_ = nullptr;
  uint64_t bytes_ = 0;
  uint64_t rows_left_ = 0;
  uint64_t cell_bytes_left_ = 0;
  std::map<std::string, Columns> tables_;
  std::set<std::string> computed_tables_;  // views and virtual tables
  std::vector<std::string> damage_;
  uint64_t odd_values_ = 0;
};

}  // namespace stallscope::importers::nsys
