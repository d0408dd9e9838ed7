// What a file is, by its content: names and endings are not believed. Any thread.
#ifndef STALLSCOPE_COLLECTORS_DATA_FILE_KIND_H_
#define STALLSCOPE_COLLECTORS_DATA_FILE_KIND_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/base/result.h"
#include "collectors/data/buffer.h"
#include "collectors/data/byte_source.h"

namespace stallscope::data {

enum class FileKind : uint8_t {
  kEmpty,
  kTfRecord,
  kJpeg,
  kPng,
  kHdf5,
  kRawTensors,
  kManifest,  // the generator's manifest.json
  kText,      // any other text: CSV has no mark of its own
  kUnknown,
};

std::string_view Name(FileKind kind);  // "a TFRecord file"

struct FileLook {
  FileKind kind = FileKind::kUnknown;  // of what it unpacks to
  Compression compression = Compression::kNone;
};

// No control characters but line breaks and tabs. Packed data is never that, though text may begin
// as zlib data does.
bool LooksLikeText(ByteView bytes);

// Of plain bytes; 64 tell all kinds, 4096 text from bytes that begin as text.
FileKind KindOf(ByteView first_bytes);

// Reads the first 4 KiB.
Result<FileLook> LookAt(const std::string& path);

// An error where the file is of another kind; a TFRecord, CSV or raw file may be empty.
Status ExpectKind(const std::string& path, FileKind kind);

}  // namespace stallscope::data

#endif  // STALLSCOPE_COLLECTORS_DATA_FILE_KIND_H_
