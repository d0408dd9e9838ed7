#include "analyzer/importers/unknown_file.h"

#include <algorithm>
#include <array>

#include "analyzer/model/content.h"

namespace stallscope::importers {
namespace {

using namespace std::string_view_literals;

struct Magic {
  size_t at;
  std::string_view bytes;
  const char* what;
};

// What people have lying beside their traces.
constexpr std::array<Magic, 21> kMagics = {{
    {0, "\x89PNG\r\n\x1a\n"sv, "a PNG picture"},
    {0, "\xff\xd8\xff"sv, "a JPEG picture"},
    {0, "GIF8"sv, "a GIF picture"},
    {0,
     "\x7f"
     "ELF"sv,
     "an ELF program or library"},
    {0, "%PDF-"sv, "a PDF document"},
    {0, "\x89HDF\r\n\x1a\n"sv, "an HDF5 file"},
    {0, "\x28\xb5\x2f\xfd"sv, "data packed with zstd"},
    {0,
     "\xfd"
     "7zXZ\0"sv,
     "data packed with xz"},
    {0, "BZh"sv, "data packed with bzip2"},
    {0, "\x04\x22\x4d\x18"sv, "data packed with lz4"},
    {0, "7z\xbc\xaf\x27\x1c"sv, "a 7z archive"},
    {257, "ustar"sv, "a tar archive"},
    {0, "PAR1"sv, "a Parquet file"},
    {0, "ARROW1"sv, "an Arrow file"},
    {0, "\x93NUMPY"sv, "a NumPy array"},
    {0, "\x80\x02"sv, "a Python pickle"},
    {0, "\x80\x04\x95"sv, "a Python pickle"},
    {0, "PERFILE2"sv, "a recording of perf"},
    {0, "<!DOCTYPE"sv, "an HTML page"},
    {0, "<html"sv, "an HTML page"},
    {0, "<?xml"sv, "XML"},
}};

// By what stands in every file of theirs, near its beginning.
struct JsonKeys {
  std::string_view first;
  std::string_view second;
  const char* what;
};
constexpr std::array<JsonKeys, 4> kOtherJson = {{
    {"\"rocprofiler-sdk-tool\"", "\"metadata\"", "rocprofv3's own JSON"},
    {"\"schema\"", "[pytorch|profiler|execution_trace", "an execution trace of PyTorch"},
    {"speedscope.app/file-format-schema", "\"profiles\"", "a profile of speedscope"},
    {"\"nodes\"", "\"callFrame\"", "a CPU profile of V8"},
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

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Their layout is nobody's but NVIDIA's; the words of its tool stand in them, and else the name
// must do.
bool IsNsightReport(const std::string& path, std::string_view head) {
  if (model::LooksLike(head) == model::Content::kJson) return false;
  return head.find("QuadD") != std::string_view::npos ||
         head.find("Nsight Systems") != std::string_view::npos || EndsWith(path, ".nsys-rep") ||
         EndsWith(path, ".qdrep");
}

const char* HintFor(model::Content content) {
  switch (content) {
    case model::Content::kZip:
      return "unpack it first";
    case model::Content::kEmpty:
      return "record the run again";
    default:
      return "give a trace of stallscope (.sst), PyTorch or TensorFlow (JSON), XPlane "
             "(.xplane.pb) or Nsight Systems (exported to SQLite)";
  }
}

}  // namespace

bool IsOtherJson(std::string_view head) { return OtherJson(head) != nullptr; }

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

Error UnknownFile(const std::string& path, std::string_view head, bool packed) {
  if (IsNsightReport(path, head)) {
    return Error{ErrorKind::kInput, "this is a report of Nsight Systems, which only nsys can read",
                 path, "export it with: nsys export --type sqlite"};
  }
  const model::Content content = model::LooksLike(head);
  if (content == model::Content::kEmpty) {
    return Error{ErrorKind::kInput,
                 packed ? "this is no trace: nothing is packed in it"
                        : "this is no trace: the file is empty",
                 path, HintFor(content)};
  }
  return Error{ErrorKind::kInput,
               "this is no trace that stallscope knows: it looks like " + WhatItLooksLike(head) +
                   (packed ? ", packed with gzip" : ""),
               path, HintFor(content)};
}

}  // namespace stallscope::importers
