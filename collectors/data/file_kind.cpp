#include "collectors/data/file_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "collectors/data/jpeg_header.h"
#include "collectors/data/png.h"
#include "collectors/data/raw_tensors.h"
#include "collectors/data/tfrecord_reader.h"

namespace stallscope::data {
namespace {

constexpr size_t kLookBytes = 4096;
constexpr std::string_view kHdf5Signature("\x89HDF\r\n\x1a\n", 8);
constexpr std::string_view kManifestMark = "\"stallscope.dataset/";

// As many bytes as come, up to the size of `into`.
Result<size_t> ReadUpTo(ByteSource& source, Buffer& into) {
  size_t end = 0;
  while (end < into.size()) {
    STALLSCOPE_ASSIGN_OR_RETURN(const size_t got,
                                source.Read(into.data() + end, into.size() - end));
    if (got == 0) break;
    end += got;
  }
  return end;
}

}  // namespace

std::string_view Name(FileKind kind) {
  switch (kind) {
    case FileKind::kEmpty:
      return "an empty file";
    case FileKind::kTfRecord:
      return "a TFRecord file";
    case FileKind::kJpeg:
      return "a JPEG";
    case FileKind::kPng:
      return "a PNG";
    case FileKind::kHdf5:
      return "an HDF5 file";
    case FileKind::kRawTensors:
      return "a file of raw tensors";
    case FileKind::kManifest:
      return "a data set's manifest";
    case FileKind::kText:
      return "text";
    case FileKind::kUnknown:
      break;
  }
  return "a file of an unknown kind";
}

bool LooksLikeText(ByteView bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t c) {
    return c >= 0x20 ? c != 0x7f : c == '\n' || c == '\r' || c == '\t';
  });
}

FileKind KindOf(ByteView first_bytes) {
  if (first_bytes.empty()) return FileKind::kEmpty;
  if (TfRecordReader::LooksLikeRecord(first_bytes)) return FileKind::kTfRecord;
  if (LooksLikeJpeg(first_bytes)) return FileKind::kJpeg;
  if (LooksLikePng(first_bytes)) return FileKind::kPng;
  if (LooksLikeRawTensors(first_bytes)) return FileKind::kRawTensors;
  if (AsText(first_bytes).starts_with(kHdf5Signature)) return FileKind::kHdf5;
  if (!LooksLikeText(first_bytes)) return FileKind::kUnknown;
  const std::string_view text = AsText(first_bytes);
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start != std::string_view::npos && text[start] == '{' &&
      text.find(kManifestMark) != std::string_view::npos) {
    return FileKind::kManifest;
  }
  return FileKind::kText;
}

Result<FileLook> LookAt(const std::string& path) {
  ReadOptions options;
  STALLSCOPE_ASSIGN_OR_RETURN(auto source, OpenFileSource(path, options));
  Buffer first(kLookBytes);
  STALLSCOPE_ASSIGN_OR_RETURN(const size_t size, ReadUpTo(*source, first));
  first.Resize(size);
  FileLook look{KindOf(first), Compression::kNone};
  if (look.kind != FileKind::kUnknown) return look;
  const Compression compression = CompressionOf(first);
  if (compression == Compression::kNone) return look;
  auto unpacked = OpenInflateSource(OpenMemorySource(path, first), compression);
  Buffer inner(kLookBytes);
  size_t end = 0;
  while (end < inner.size()) {
    const auto got = unpacked->Read(inner.data() + end, inner.size() - end);
    if (!got.ok() || got.value() == 0) break;  // the look ends inside the packed data
    end += got.value();
  }
  inner.Resize(end);
  return FileLook{KindOf(inner), compression};
}

Status ExpectKind(const std::string& path, FileKind kind) {
  STALLSCOPE_ASSIGN_OR_RETURN(const FileLook look, LookAt(path));
  if (look.kind == kind) return {};
  const bool may_be_empty =
      kind == FileKind::kTfRecord || kind == FileKind::kText || kind == FileKind::kRawTensors;
  if (look.kind == FileKind::kEmpty && may_be_empty) return {};
  return Error{ErrorKind::kRun,
               fmt::format("{} is expected, and this is {}", Name(kind), Name(look.kind)), path,
               "name only files of one kind, or set on_error to skip"};
}

}  // namespace stallscope::data
