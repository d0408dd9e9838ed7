#include "analyzer/importers/open_run.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "analyzer/importers/chrome/chrome.h"
#include "analyzer/importers/foreign/byte_source.h"
#include "analyzer/importers/nsys/nsys.h"
#include "analyzer/importers/xplane/xplane.h"
#include "analyzer/model/content.h"
#include "analyzer/model/loader.h"
#include "analyzer/trace/reader.h"

namespace stallscope::importers {
namespace {

using namespace std::string_view_literals;

struct Magic {
  size_t at;
  std::string_view bytes;
  const char* what;
};

// What people keep beside their traces.
constexpr std::array<Magic, 21> kMagics = {{
    {0, "\x89PNG\r\n\x1a\n"sv, "a PNG image"},
    {0, "\xff\xd8\xff"sv, "a JPEG image"},
    {0, "GIF8"sv, "a GIF image"},
    {0,
     "\x7f"
     "ELF"sv,
     "an ELF program or library"},
    {0, "%PDF-"sv, "a PDF document"},
    {0, "\x89HDF\r\n\x1a\n"sv, "an HDF5 file"},
    {0, "\x28\xb5\x2f\xfd"sv, "zstd-compressed data"},
    {0,
     "\xfd"
     "7zXZ\0"sv,
     "xz-compressed data"},
    {0, "BZh"sv, "bzip2-compressed data"},
    {0, "\x04\x22\x4d\x18"sv, "lz4-compressed data"},
    {0, "7z\xbc\xaf\x27\x1c"sv, "a 7z archive"},
    {257, "ustar"sv, "a tar archive"},
    {0, "PAR1"sv, "a Parquet file"},
    {0, "ARROW1"sv, "an Arrow file"},
    {0, "\x93NUMPY"sv, "a NumPy array"},
    {0, "\x80\x02"sv, "a Python pickle"},
    {0, "\x80\x04\x95"sv, "a Python pickle"},
    {0, "PERFILE2"sv, "a perf recording"},
    {0, "<!DOCTYPE"sv, "an HTML page"},
    {0, "<html"sv, "an HTML page"},
    {0, "<?xml"sv, "XML"},
}};

// Keys near the beginning of every file of that tool.
struct JsonKeys {
  std::string_view first;
  std::string_view second;
  const char* what;
};
constexpr std::array<JsonKeys, 4> kOtherJson = {{
    {"\"rocprofiler-sdk-tool\"", "\"metadata\"", "rocprofv3's own JSON"},
    {"\"schema\"", "[pytorch|profiler|execution_trace", "a PyTorch execution trace"},
    {"speedscope.app/file-format-schema", "\"profiles\"", "a speedscope profile"},
    {"\"nodes\"", "\"callFrame\"", "a V8 CPU profile"},
}};

const JsonKeys* OtherJson(std::string_view head) {
  const size_t begin = head.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || head[begin] != '{') return nullptr;
  const auto has = [&](std::string_view key) { return head.find(key) != std::string_view::npos; };
  if (has("\"traceEvents\"") || has("\"ph\"")) return nullptr;
  const auto known = std::find_if(kOtherJson.begin(), kOtherJson.end(), [&](const JsonKeys& keys) {
    return has(keys.first) && has(keys.second);
  });
  return known == kOtherJson.end() ? nullptr : &*known;
}

// The layout is proprietary; the tool's words are in the file, and otherwise the name must do.
bool IsNsightReport(const std::string& path, std::string_view head) {
  if (model::LooksLike(head) == model::Content::kJson) return false;
  return head.find("QuadD") != std::string_view::npos ||
         head.find("Nsight Systems") != std::string_view::npos || path.ends_with(".nsys-rep") ||
         path.ends_with(".qdrep");
}

const char* HintFor(model::Content content) {
  switch (content) {
    case model::Content::kZip:
      return "unpack it first";
    case model::Content::kEmpty:
      return "record the run again";
    default:
      return "use a trace from stallscope (.sst), PyTorch or TensorFlow (JSON), XPlane "
             "(.xplane.pb) or Nsight Systems (exported to SQLite)";
  }
}

// "a PNG image", "an ELF program or library", ...
std::string WhatItLooksLike(std::string_view head) {
  if (const JsonKeys* const json = OtherJson(head)) return json->what;
  for (const Magic& magic : kMagics) {
    if (head.substr(0, magic.at + magic.bytes.size()).substr(std::min(magic.at, head.size())) ==
        magic.bytes) {
      return magic.what;
    }
  }
  return model::NameOf(model::LooksLike(head));
}

// That no importer knows the file, what it looks like by its first bytes, and what to do.
Error UnknownFile(const std::string& path, std::string_view head, bool packed) {
  if (IsNsightReport(path, head)) {
    return Error{ErrorKind::kInput, "this is an Nsight Systems report, which only nsys can read",
                 path, "export it with: nsys export --type sqlite"};
  }
  const model::Content content = model::LooksLike(head);
  if (content == model::Content::kEmpty) {
    return Error{ErrorKind::kInput,
                 packed ? "this is not a trace: the gzip file is empty"
                        : "this is not a trace: the file is empty",
                 path, HintFor(content)};
  }
  return Error{ErrorKind::kInput,
               "this is not a trace that stallscope knows: it looks like " + WhatItLooksLike(head) +
                   (packed ? ", gzipped" : ""),
               path, HintFor(content)};
}

struct Format {
  bool (*knows)(std::string_view head);
  Result<model::Run> (*read)(ByteSource& source);
};

constexpr std::array<Format, 3> kFormats = {{
    {chrome::LooksLikeTraceEvents, chrome::ReadTraceEvents},
    {nsys::LooksLikeDatabase, nsys::ReadNsys},
    {xplane::LooksLikeXSpace, xplane::ReadXPlane},
}};

// A source that reports how much of it has been read, and stops once nobody waits for it.
class WatchedSource final : public ByteSource {
 public:
  WatchedSource(ByteSource& source, const model::OnProgress& on_progress)
      : ByteSource(source.path(), source.packed(), source.in_place(), source.file_bytes()),
        source_(source),
        on_progress_(on_progress) {
    head_ = source.head();
  }

  Result<size_t> Read(char* into, size_t size) override {
    // How far a packed file has been read is unknown.
    std::optional<double> part;
    if (!packed() && file_bytes() > 0) {
      part = std::min(static_cast<double>(read_) / static_cast<double>(file_bytes()), 1.0);
    }
    if (!on_progress_(part)) {
      return Error{ErrorKind::kInput, "reading was canceled", path(), ""};
    }
    STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, source_.Read(into, size));
    read_ += got;
    return got;
  }
  std::optional<InputFile> OwnFile() override { return source_.OwnFile(); }
  std::optional<PackedDamage> Damage() const override { return source_.Damage(); }

 private:
  ByteSource& source_;
  const model::OnProgress& on_progress_;
  uint64_t read_ = 0;
};

Result<model::Run> ReadTrace(ByteSource& source, const model::OnProgress& on_progress) {
  STALLSCOPE_ASSIGN_OR_RETURN(InputFile file, TakeFile(source));
  STALLSCOPE_ASSIGN_OR_RETURN(model::Run run, model::LoadTrace(std::move(file), on_progress));
  TellDamage(source, run.quality);
  return run;
}

const Format* FormatOf(const ByteSource& source) {
  if (OtherJson(source.head()) != nullptr) return nullptr;
  const auto format = std::find_if(kFormats.begin(), kFormats.end(),
                                   [&](const Format& known) { return known.knows(source.head()); });
  return format == kFormats.end() ? nullptr : &*format;
}

}  // namespace

Result<bool> IsTrace(const std::string& path) {
  STALLSCOPE_ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> source, ByteSource::Open(path));
  return trace::TraceReader::LooksLikeTrace(source->head()) || FormatOf(*source) != nullptr;
}

Result<model::Run> OpenRun(const std::string& path, const model::OnProgress& on_progress) {
  STALLSCOPE_ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> opened, ByteSource::Open(path));
  std::optional<WatchedSource> watched;
  if (on_progress) watched.emplace(*opened, on_progress);
  ByteSource& source = watched ? *watched : *opened;
  if (trace::TraceReader::LooksLikeTrace(source.head())) return ReadTrace(source, on_progress);
  if (const Format* const format = FormatOf(source)) return format->read(source);
  return UnknownFile(path, source.head(), source.packed());
}

}  // namespace stallscope::importers
