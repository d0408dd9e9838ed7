#include "analyzer/model/content.h"

#include <algorithm>

#include "analyzer/trace/reader.h"
#include "analyzer/trace/varint.h"

namespace stallscope::model {
namespace {

bool LooksLikeText(std::string_view bytes) {
  return std::none_of(bytes.begin(), bytes.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 ? byte != '\t' && byte != '\n' && byte != '\r' && byte != '\f'
                       : byte == 0x7f;
  });
}

// A file of protobuf is a message without a frame: only its first fields can be checked. Three in a
// row, or all there are, with small numbers and known wire types.
bool LooksLikeProtobuf(std::string_view bytes) {
  int fields = 0;
  while (!bytes.empty() && fields < 3) {
    trace::ColumnReader reader(bytes);
    const uint64_t tag = reader.Next();
    if (!reader.ok() || tag >> 3 == 0 || tag >> 3 > 100) return false;
    const size_t tag_size = tag < 0x80 ? 1 : 2;
    bytes.remove_prefix(tag_size);
    size_t skip = 0;
    switch (tag & 7) {
      case 0:
        while (skip < bytes.size() && (static_cast<unsigned char>(bytes[skip]) & 0x80) != 0) ++skip;
        if (++skip > 10) return false;
        break;
      case 1:
        skip = 8;
        break;
      case 2: {
        if (bytes.empty()) return false;
        size_t length_size = 1;
        while (length_size < bytes.size() && length_size < 5 &&
               (static_cast<unsigned char>(bytes[length_size - 1]) & 0x80) != 0) {
          ++length_size;
        }
        const uint64_t length = trace::ColumnReader(bytes.substr(0, length_size)).Next();
        if (length == 0 || length > uint64_t{1} << 31) return false;
        // A long first field runs past the bytes that we see.
        if (length > bytes.size() - length_size) return true;
        skip = length_size + length;
        break;
      }
      case 5:
        skip = 4;
        break;
      default:
        return false;
    }
    if (skip > bytes.size()) return false;
    bytes.remove_prefix(skip);
    ++fields;
  }
  return fields > 0;
}

std::string HintFor(Content content) {
  switch (content) {
    case Content::kGzip:
      return "gunzip it first";
    case Content::kZip:
      return "unpack it first";
    case Content::kEmpty:
      return "record the run again";
    default:
      return "use a trace that stallscope recorded";
  }
}

}  // namespace

Content LooksLike(std::string_view bytes) {
  if (bytes.empty()) return Content::kEmpty;
  if (trace::TraceReader::LooksLikeTrace(bytes)) return Content::kTrace;
  if (bytes.starts_with("\x1f\x8b")) return Content::kGzip;
  if (bytes.starts_with("PK\x03\x04")) return Content::kZip;
  if (bytes.starts_with(std::string_view("SQLite format 3\0", 16))) return Content::kSqlite;
  std::string_view text = bytes;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  const bool is_text = LooksLikeText(bytes);
  if (is_text && (text.starts_with("{") || text.starts_with("["))) return Content::kJson;
  if (is_text) return Content::kText;
  if (LooksLikeProtobuf(bytes)) return Content::kProtobuf;
  return Content::kUnknown;
}

const char* NameOf(Content content) {
  switch (content) {
    case Content::kEmpty:
      return "an empty file";
    case Content::kTrace:
      return "a stallscope trace";
    case Content::kGzip:
      return "gzip";
    case Content::kZip:
      return "a zip archive";
    case Content::kJson:
      return "JSON";
    case Content::kSqlite:
      return "an SQLite database";
    case Content::kProtobuf:
      return "protobuf";
    case Content::kText:
      return "text";
    case Content::kUnknown:
      break;
  }
  return "data of an unknown kind";
}

Error NotATrace(const std::string& path, Content content) {
  const std::string what =
      content == Content::kEmpty
          ? "this is not a trace: the file is empty"
          : std::string("this is not a trace: it looks like ") + NameOf(content);
  return Error{ErrorKind::kInput, what, path, HintFor(content)};
}

}  // namespace stallscope::model
