#include "analyzer/importers/open_run.h"

#include <array>
#include <memory>
#include <utility>

#include "analyzer/importers/chrome/import.h"
#include "analyzer/importers/foreign/byte_source.h"
#include "analyzer/importers/foreign/unpacked_file.h"
#include "analyzer/importers/nsys/nsys.h"
#include "analyzer/importers/unknown_file.h"
#include "analyzer/importers/xplane/xplane.h"
#include "analyzer/model/loader.h"
#include "analyzer/trace/reader.h"

namespace stallscope::importers {
namespace {

struct Format {
  bool (*knows)(std::string_view head);
  Result<model::Run> (*read)(ByteSource& source);
};

constexpr std::array<Format, 3> kFormats = {{
    {chrome::LooksLikeTraceEvents, chrome::ReadTraceEvents},
    {nsys::LooksLikeDatabase, nsys::ReadNsys},
    {xplane::LooksLikeXSpace, xplane::ReadXPlane},
}};

void Replace(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// The loader goes through a trace twice, so that a packed one is unpacked first.
Result<model::Run> LoadPacked(ByteSource& source) {
  STALLSCOPE_ASSIGN_OR_RETURN(const UnpackedFile file, UnpackedFile::Make(source));
  Result<model::Run> run = model::LoadTrace(file.path());
  if (!run.ok()) {
    Error error = std::move(run).error();
    Replace(error.where, file.path(), source.path());
    return error;
  }
  model::Run loaded = std::move(run).value();
  loaded.path = source.path();
  for (std::string& warning : loaded.quality.warnings) {
    Replace(warning, file.path(), source.path());
  }
  if (const auto damage = source.Damage()) {
    loaded.quality.warnings.push_back(source.path() + ": " + *damage);
  }
  return loaded;
}

}  // namespace

Result<model::Run> OpenRun(const std::string& path) {
  STALLSCOPE_ASSIGN_OR_RETURN(const std::unique_ptr<ByteSource> source, ByteSource::Open(path));
  if (trace::TraceReader::LooksLikeTrace(source->head())) {
    return source->packed() ? LoadPacked(*source) : model::LoadTrace(path);
  }
  for (const Format& format : kFormats) {
    if (format.knows(source->head())) return format.read(*source);
  }
  return UnknownFile(path, source->head(), source->packed());
}

}  // namespace stallscope::importers
