#include "collectors/data/csv_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "analyzer/base/amplification.h"
#include "collectors/data/file_set.h"

namespace stallscope::data {
namespace {

// Of a row that is taken apart: a view of each field, and of a header's its name.
constexpr uint64_t kBytesAField = sizeof(std::string_view) + sizeof(std::string);
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// What one pass over a row with quotes finds out, piece by piece as the bytes come in.
struct QuoteScan {
  size_t at = 0;              // how far
  size_t commas = 0;          // outside quotes
  uint64_t lines = 0;         // line breaks within quotes
  uint64_t opened = 0;        // on which of them the open quote began
  bool quoted = false;        // inside quotes
  bool closing = false;       // behind a quote that may be a doubled one
  bool after_return = false;  // behind a carriage return behind a closing quote
  bool field_start = true;
  bool misplaced = false;  // a quote inside a bare field, or text behind a closing one
};

// Goes on over `text`; true where it came upon the row's line break, at scan.at.
bool GoOn(QuoteScan& scan, std::string_view text) {
  for (; scan.at < text.size(); ++scan.at) {
    const char c = text[scan.at];
    if (scan.quoted) {
      if (c == '"') {
        scan.quoted = false;
        scan.closing = true;
      } else if (c == '\n') {
        ++scan.lines;
      }
      continue;
    }
    if (c == '\n') return true;
    if (scan.after_return) scan.misplaced = true;  // and no line feed came
    scan.after_return = false;
    if (c == '"') {
      if (scan.field_start) scan.opened = scan.lines;
      scan.quoted = scan.field_start || scan.closing;
      if (!scan.quoted) scan.misplaced = true;
      scan.closing = false;
      scan.field_start = false;
    } else if (c == ',') {
      ++scan.commas;
      scan.closing = false;
      scan.field_start = true;
    } else {
      scan.after_return = scan.closing && c == '\r';
      if (scan.closing && !scan.after_return) scan.misplaced = true;
      scan.field_start = false;
    }
  }
  return false;
}

}  // namespace

Result<CsvReader> CsvReader::Open(const std::string& path, const ReadOptions& options) {
  STALLSCOPE_ASSIGN_OR_RETURN(auto file, OpenFileSource(path, options));
  return Over(std::move(file), options);
}

Result<CsvReader> CsvReader::Over(std::unique_ptr<ByteSource> source, const ReadOptions& options) {
  STALLSCOPE_ASSIGN_OR_RETURN(auto plain, Unpacked(std::move(source), &LooksLikeText));
  CsvReader reader(std::move(plain), options);
  STALLSCOPE_RETURN_IF_ERROR(reader.ReadHeader());
  return reader;
}

Error CsvReader::At(std::string what, std::string hint) const {
  return Error{
      ErrorKind::kRun, std::move(what),
      fmt::format("{}, line {}, offset {}, record {}", path(), line_, window_.offset(), index_),
      std::move(hint)};
}

// Finds the end of the row at the window's start. Rows without quotes, nearly all, are searched for
// their line feed only, at the speed of memory.
Result<std::optional<CsvReader::Extent>> CsvReader::FindEnd() {
  size_t searched = 0;
  bool has_quote = false;
  bool ended = false;
  QuoteScan scan;
  for (;;) {
    const std::string_view text = AsText(window_.view());
    if (!has_quote) {
      const size_t feed = text.find('\n', searched);
      const std::string_view fresh = text.substr(searched, feed - searched);
      has_quote = fresh.find('"') != std::string_view::npos;
      if (!has_quote && (feed != std::string_view::npos || ended)) {
        const size_t end = std::min(feed, text.size());
        if (end == text.size() && text.empty()) return std::optional<Extent>();
        const auto commas = static_cast<size_t>(
            std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(end), ','));
        return std::optional<Extent>(Extent{end, commas, 0, false});
      }
    }
    if (has_quote) {
      const bool found = GoOn(scan, text);
      if (!found && ended && scan.quoted) {
        stuck_ = true;
        line_ += scan.opened;
        return At("a quote is never closed; everything after it is lost", "close the quote");
      }
      if (found || ended) {
        return std::optional<Extent>(Extent{scan.at, scan.commas, scan.lines, scan.misplaced});
      }
    }
    searched = text.size();
    if (searched > kMaxRowBytes) {
      stuck_ = true;
      return At(fmt::format("a row of more than {} bytes", kMaxRowBytes), "is this a CSV file?");
    }
    const Status filled = window_.Fill(searched + 1);
    if (!filled.ok()) {
      stuck_ = true;
      return filled.error();
    }
    ended = window_.view().size() == searched;
  }
}

// The row at the window's start, empty lines passed over.
Result<std::optional<CsvRow>> CsvReader::Scan() {
  for (;;) {
    STALLSCOPE_ASSIGN_OR_RETURN(const auto extent, FindEnd());
    if (!extent.has_value()) return std::optional<CsvRow>();
    const std::string_view all = AsText(window_.view());
    std::string_view text = all.substr(0, extent->end);
    if (text.ends_with('\r')) text.remove_suffix(1);
    const size_t whole = std::min(extent->end + 1, all.size());
    if (text.empty()) {
      window_.Pass(whole);
      ++line_;
      continue;
    }
    pending_ = whole;
    pending_lines_ = extent->lines + 1;
    if (extent->misplaced) {
      return At("a quote is misplaced, or is followed by text",
                "put the whole field in quotes and double the quotes in it");
    }
    const uint64_t fields = extent->commas + 1;
    const uint64_t packed = window_.source().PackedBytesRead();
    if (text.size() + fields * kBytesAField > MostMemoryFor(packed)) {
      return At(fmt::format("a row of {} fields from {} bytes is implausible", fields, packed),
                "is this a CSV file?");
    }
    return std::optional<CsvRow>(CsvRow{text, index_, line_, window_.offset(), fields});
  }
}

Status CsvReader::ReadHeader() {
  STALLSCOPE_RETURN_IF_ERROR(window_.Fill(kByteOrderMark.size()));
  if (AsText(window_.view()).starts_with(kByteOrderMark)) window_.Pass(kByteOrderMark.size());
  STALLSCOPE_ASSIGN_OR_RETURN(const auto row, Scan());
  if (!row.has_value()) return {};
  columns_ = row->fields;
  CsvFields fields;
  const Status split = fields.Split(row->text);
  if (!split.ok()) return At(split.error().what, split.error().hint);
  const std::string_view first = fields[0];
  double number;
  const auto parsed = std::from_chars(first.data(), first.data() + first.size(), number);
  if (parsed.ec == std::errc() && parsed.ptr == first.data() + first.size()) {
    pending_ = 0;  // a row like the others: Next gives it
    pending_lines_ = 0;
    return {};
  }
  for (size_t i = 0; i < fields.size(); ++i) header_.emplace_back(fields[i]);
  return {};
}

Result<std::optional<CsvRow>> CsvReader::Next() {
  if (stuck_) return std::optional<CsvRow>();
  window_.Pass(pending_);
  line_ += pending_lines_;
  pending_ = 0;
  pending_lines_ = 0;
  Result<std::optional<CsvRow>> row = Scan();
  if (!row.ok()) {
    ++index_;
    return row;
  }
  if (!row.value().has_value()) return row;
  if (row.value()->fields != columns_) {
    Error ragged =
        At(fmt::format("the row has {} fields, the first has {}", row.value()->fields, columns_),
           "give every row the same number of fields");
    ++index_;
    return ragged;
  }
  ++index_;
  return row;
}

// `text` is a row's: its quotes are closed. Grows unquoted_ beforehand, because views point into
// it, and fields_, which would take three times as much while it grows.
Status CsvFields::Split(std::string_view text) {
  fields_.clear();
  fields_.reserve(static_cast<size_t>(std::count(text.begin(), text.end(), ',')) + 1);
  unquoted_.clear();
  unquoted_.reserve(text.size());
  for (size_t at = 0;;) {
    if (at < text.size() && text[at] == '"') {
      const size_t begin = unquoted_.size();
      for (++at; at < text.size(); ++at) {
        if (text[at] == '"' && (at + 1 == text.size() || text[at + 1] != '"')) break;
        if (text[at] == '"') ++at;
        unquoted_.push_back(text[at]);
      }
      if (at == text.size() || (at + 1 < text.size() && text[at + 1] != ',')) {
        return Error{ErrorKind::kRun, fmt::format("column {} is badly quoted", fields_.size() + 1),
                     "", "put the whole field in quotes and double the quotes in it"};
      }
      fields_.emplace_back(unquoted_.data() + begin, unquoted_.size() - begin);
      ++at;
    } else {
      const size_t end = std::min(text.find(',', at), text.size());
      fields_.push_back(text.substr(at, end - at));
      at = end;
    }
    if (at >= text.size()) return {};
    ++at;  // the comma
    if (at == text.size()) {
      fields_.emplace_back();
      return {};
    }
  }
}

}  // namespace stallscope::data
