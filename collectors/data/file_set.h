// The files that a source names, and what each is: by its content, never by its name or extension.
//
// Patterns take *, ? and [...] in any part of a path. Each pattern's files come in byte order, the
// patterns in the order given; a file that is named twice comes once, at its first place. A
// wildcard never matches a name that begins with a dot. The generator's own manifest.json is
// skipped. A pattern that names an existing file is meant literally. Any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
  kText,      // any other text: CSV has no signature
  kUnknown,
};

std::string_view Name(FileKind kind);  // "a TFRecord file"

struct FileLook {
  FileKind kind = FileKind::kUnknown;  // of the unpacked data
  Compression compression = Compression::kNone;
};

// No control characters but line breaks and tabs. Packed data never passes, though text may start
// like zlib data.
bool LooksLikeText(ByteView bytes);

// For unpacked bytes. 64 identify every kind but text, which takes 4096.
FileKind KindOf(ByteView first_bytes);

// Reads the first 4 KiB.
Result<FileLook> LookAt(const std::string& path);

// An error where the file is of another kind; a TFRecord, CSV or raw file may be empty.
Status ExpectKind(const std::string& path, FileKind kind);

// A pattern without a match, or one that names a folder, is an error.
Result<std::vector<std::string>> ExpandFiles(std::span<const std::string> patterns);

struct ImageFile {
  std::string path;
  int64_t label = 0;  // an index of classes
};

struct ImageFolder {
  std::vector<std::string> classes;  // in byte order
  std::vector<ImageFile> files;
};

// The images that patterns name: files, folders of files (one class each), or folders of such
// folders. An image's class is the name of its folder. A class without images still counts as a
// class; no image at all is an error.
Result<ImageFolder> ExpandImages(std::span<const std::string> patterns);

}  // namespace stallscope::data
