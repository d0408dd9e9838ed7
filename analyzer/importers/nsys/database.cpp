#include "analyzer/importers/nsys/database.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "analyzer/base/file.h"

namespace stallscope::importers::nsys {
namespace {

constexpr int kMostCellBytes = 16 << 20;
constexpr int kMostColumns = 500;
constexpr size_t kMostTables = 4'096;
constexpr uint64_t kMostPackedBytes = uint64_t{8} << 30;
// No row takes less, so a file that claims to have more of them goes in circles.
constexpr uint64_t kLeastRowBytes = 3;
constexpr uint64_t kFewRows = 1'000;
// Each table is read once, so its cells are no larger than the file; UTF-16 text grows by half.
constexpr uint64_t kMostCellsEach = 2;
constexpr uint64_t kFewCellBytes = uint64_t{1} << 20;

// Permits only what a plain SELECT on tables needs. A function could only come from the schema.
int Authorize(void*, int action, const char* first, const char*, const char*, const char*) {
  if (action == SQLITE_SELECT || action == SQLITE_READ) return SQLITE_OK;
  if (action == SQLITE_PRAGMA && first != nullptr && std::strcmp(first, "table_xinfo") == 0) {
    return SQLITE_OK;
  }
  return SQLITE_DENY;
}

std::string Quoted(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

bool SameName(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

// A path as a file: URI, in which "?" and "#" would begin parameters.
std::string Uri(const std::string& path) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '.' || c == '_' || c == '-';
    if (plain) {
      uri += c;
    } else {
      uri += '%';
      uri += kHex[byte >> 4];
      uri += kHex[byte & 15];
    }
  }
  return uri + "?mode=ro&immutable=1";
}

bool Configure(sqlite3* handle) {
  const auto off = [&](int what) {
    return sqlite3_db_config(handle, what, 0, nullptr) == SQLITE_OK;
  };
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kMostCellBytes);
  sqlite3_limit(handle, SQLITE_LIMIT_COLUMN, kMostColumns);
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(handle, SQLITE_LIMIT_EXPR_DEPTH, 20);
  return off(SQLITE_DBCONFIG_TRUSTED_SCHEMA) && off(SQLITE_DBCONFIG_ENABLE_TRIGGER) &&
         off(SQLITE_DBCONFIG_ENABLE_VIEW) && off(SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION) &&
         sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr) == SQLITE_OK &&
         sqlite3_set_authorizer(handle, Authorize, nullptr) == SQLITE_OK;
}

Error Unreadable(sqlite3* handle, const std::string& path) {
  return Error{ErrorKind::kInput,
               std::string("this SQLite database cannot be read: ") + sqlite3_errmsg(handle), path,
               "export it again with nsys export --type sqlite"};
}

}  // namespace

bool Row::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}
int64_t Row::Int(int column) const {
  const int type = sqlite3_column_type(statement_, column);
  if (type != SQLITE_INTEGER && type != SQLITE_NULL) ++odd_values_;
  return sqlite3_column_int64(statement_, column);
}
std::string_view Row::Text(int column) const {
  const unsigned char* const text = sqlite3_column_text(statement_, column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text),
          static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

Result<std::unique_ptr<Database>> Database::Open(ByteSource& source) {
  std::unique_ptr<Database> database(new Database(source));
  database->bytes_ = source.file_bytes();
  int opened = SQLITE_OK;
  constexpr int kFlags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  if (!source.in_place()) {
    STALLSCOPE_ASSIGN_OR_RETURN(database->content_, ReadAll(source, kMostPackedBytes));
    database->bytes_ = database->content_.size();
    opened =
        sqlite3_open_v2(":memory:", &database->handle_,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX, nullptr);
    if (opened == SQLITE_OK) {
      const auto size = static_cast<sqlite3_int64>(database->content_.size());
      opened = sqlite3_deserialize(database->handle_, "main",
                                   reinterpret_cast<unsigned char*>(database->content_.data()),
                                   size, size, SQLITE_DESERIALIZE_READONLY);
    }
  } else {
    opened = sqlite3_open_v2(Uri(source.path()).c_str(), &database->handle_, kFlags, nullptr);
  }
  if (opened != SQLITE_OK || !Configure(database->handle_)) {
    return Unreadable(database->handle_, source.path());
  }
  database->rows_left_ = database->bytes_ / kLeastRowBytes + kFewRows;
  database->cell_bytes_left_ = kMostCellsEach * database->bytes_ + kFewCellBytes;
  STALLSCOPE_RETURN_IF_ERROR(database->ReadSchema(source.path()));
  if (source.in_place()) database->LookBeside(source.path());
  return database;
}

Database::~Database() { sqlite3_close(handle_); }

// Real tables only: a view would run its author's query, a virtual table code of its author's
// choice.
Status Database::ReadSchema(const std::string& path) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(
          handle_, "SELECT name, sql, type FROM sqlite_master WHERE type IN ('table', 'view')", -1,
          &statement, nullptr) != SQLITE_OK) {
    return Unreadable(handle_, path);
  }
  int result = SQLITE_OK;
  bool all = true;
  while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
    all = tables_.size() + computed_tables_.size() < kMostTables;
    if (!all) break;
    const Row row(statement, odd_values_);
    const std::string name(row.Text(0));
    const bool computed =
        row.Text(2) != "table" || SameName(row.Text(1).substr(0, 14), "CREATE VIRTUAL");
    if (computed) {
      computed_tables_.insert(name);
    } else {
      tables_[name];
    }
  }
  sqlite3_finalize(statement);
  if (result != SQLITE_DONE && all) return Unreadable(handle_, path);
  if (!all) damage_.push_back("it has more than 4,096 tables: the rest are left out");
  for (auto& [table, columns] : tables_) ReadColumns(table, columns);
  return {};
}

void Database::ReadColumns(const std::string& table, Columns& columns) {
  sqlite3_stmt* statement = nullptr;
  const std::string query = "PRAGMA table_xinfo(" + Quoted(table) + ")";
  int result = sqlite3_prepare_v2(handle_, query.c_str(), -1, &statement, nullptr);
  if (result == SQLITE_OK) {
    while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
      const Row row(statement, odd_values_);
      // Hidden or computed by an expression, which none of Nsight's columns is.
      (row.Int(6) == 0 ? columns.stored : columns.computed).emplace_back(row.Text(1));
    }
    sqlite3_finalize(statement);
  }
  if (result != SQLITE_DONE) {
    damage_.push_back("table " + table + ": its columns cannot be read: left out");
  }
}

// The file is opened as immutable: otherwise SQLite would write beside it, perhaps into someone
// else's folder, to recover what a killed program had not yet written to the file.
void Database::LookBeside(const std::string& path) {
  using namespace std::string_view_literals;
  struct Kind {
    const char* ending;
    std::string_view magic;  // a finished journal has another
  };
  constexpr std::array<Kind, 2> kKinds = {
      {{"-wal", "\x37\x7f\x06"sv}, {"-journal", "\xd9\xd5\x05\xf9"sv}}};
  for (const Kind& kind : kKinds) {
    struct stat about {};
    const std::string beside = path + kind.ending;
    // A program that ended well leaves only a header.
    constexpr off_t kHeaderBytes = 512;
    if (lstat(beside.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
    if (about.st_size <= kHeaderBytes) continue;
    std::string magic(kind.magic.size(), '\0');
    const Result<InputFile> file = InputFile::Open(beside);
    if (file.ok() && file.value().ReadAt(0, magic.data(), magic.size()).ok() &&
        magic != kind.magic) {
      continue;
    }
    damage_.push_back("rows still in " + beside + " (" + std::to_string(about.st_size) +
                      " bytes) are not read: open the file once with sqlite3 to merge them");
  }
}

Database::Scan::Scan(Database& database, std::string_view table,
                     const std::vector<std::string_view>& columns)
    : database_(database), table_(table) {
  const auto found = database.tables_.find(table_);
  if (found == database.tables_.end()) {
    if (database.computed_tables_.count(table_) != 0) {
      database.damage_.push_back("table " + table_ + " is a view or a virtual table: left out");
    }
    return;
  }
  std::string query = "SELECT ";
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) query += ", ";
    const auto find = [&](const std::vector<std::string>& names) {
      return std::find_if(names.begin(), names.end(),
                          [&](const std::string& name) { return SameName(name, columns[i]); });
    };
    const auto column = find(found->second.stored);
    if (column != found->second.stored.end()) {
      query += Quoted(*column);
      continue;
    }
    query += "NULL";
    if (find(found->second.computed) != found->second.computed.end()) {
      database.damage_.push_back("table " + table_ + ": column " + std::string(columns[i]) +
                                 " is computed or hidden: left out");
    }
  }
  query += " FROM " + Quoted(table_);
  if (sqlite3_prepare_v2(database.handle_, query.c_str(), -1, &statement_, nullptr) != SQLITE_OK) {
    Fail(sqlite3_errmsg(database.handle_));
  }
}

Database::Scan::~Scan() { sqlite3_finalize(statement_); }

bool Database::Scan::Next() {
  if (statement_ == nullptr) return false;
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) {
    if (database_.source_.allowance().Spent()) return false;  // CheckAllowance() reports it
    if (database_.rows_left_ > 0 && CellsFit()) {
      --database_.rows_left_;
      return true;
    }
    Fail("it claims more rows than it has bytes for");
    return false;
  }
  if (result != SQLITE_DONE) Fail(sqlite3_errmsg(database_.handle_));
  return false;
}

// Rows may share the pages of their long texts, and each would read them again.
bool Database::Scan::CellsFit() {
  uint64_t bytes = 0;
  for (int i = 0; i < sqlite3_column_count(statement_); ++i) {
    const int type = sqlite3_column_type(statement_, i);
    if (type != SQLITE_TEXT && type != SQLITE_BLOB) continue;
    bytes += static_cast<uint64_t>(sqlite3_column_bytes(statement_, i));
  }
  if (bytes > database_.cell_bytes_left_) return false;
  database_.cell_bytes_left_ -= bytes;
  return true;
}

void Database::Scan::Fail(const std::string& why) {
  database_.damage_.push_back("table " + table_ + ": " + why + "; the rest is left out");
}

}  // namespace stallscope::importers::nsys
