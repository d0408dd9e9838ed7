// An SQLite file that nobody trusts, opened to be read and for nothing else. Private to the room.
//
// No extensions, no triggers, no views, no functions in the schema, no writing; cells of at most
// 16 MiB, and no more of them than the file has bytes for. Columns are asked for by name, and a
// table or column that is not there is a normal thing; one that the schema computes, a view and
// what lies in a -wal or -journal beside the file are not read, and that is damage. The library's
// defaults would run what the file's author wrote into its schema. One thread at a time.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_NSYS_DATABASE_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_NSYS_DATABASE_H_

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

// What a column of a row holds. Good until the next row.
class Row {
 public:
  Row(sqlite3_stmt* statement, uint64_t& odd_values)
      : statement_(statement), odd_values_(odd_values) {}
  bool IsNull(int column) const;
  int64_t Int(int column) const;  // 0 of null; of what is no whole number what it can be
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

  // Calls take(row) for each row of the table with the columns in the order asked for; one that the
  // table has not got reads as null. Nothing where there is no such table. How many rows there
  // were; where the file is damaged, those before, and `damage` says what it is.
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
  // What is not read, and what ForEach met: one line a table.
  const std::vector<std::string>& damage() const { return damage_; }
  // Values that Row::Int was asked for and that are no whole numbers.
  uint64_t odd_values() const { return odd_values_; }
  // Reading ends where the file's allowance is spent; this says so.
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
  std::string content_;  // of a packed file; the library reads it where it lies
  sqlite3* handle_ = nullptr;
  uint64_t bytes_ = 0;
  uint64_t rows_left_ = 0;
  uint64_t cell_bytes_left_ = 0;
  std::map<std::string, Columns> tables_;
  std::set<std::string> computed_tables_;  // views, and tables that are code
  std::vector<std::string> damage_;
  uint64_t odd_values_ = 0;
};

}  // namespace stallscope::importers::nsys

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_NSYS_DATABASE_H_
