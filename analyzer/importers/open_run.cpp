#include "analyzer/importers/open_run.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
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

// A source that tells how much of it has been read, and ends where nobody waits for it any more.
class WatchedSource final : public ByteSource {
 public:
  WatchedSource(ByteSource& source, const model::OnProgress& on_progress)
      : ByteSource(source.path(), source.packed(), source.file_bytes()),
        source_(source),
        on_progress_(on_progress) {
    head_ = source.head();
  }

  Result<size_t> Read(char* into, size_t size) override {
    // How far into a packed file unpacked bytes are is not known.
    std::optional<double> part;
    if (!packed() && file_bytes() > 0) {
      part = std::min(static_cast<double>(read_) / static_cast<double>(file_bytes()), 1.0);
    }
    if (!on_progress_(part)) {
      return Error{ErrorKind::kInput, "the reading was ended", path(), ""};
    }
    STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, source_.Read(into, size));
    read_ += got;
    return got;
  }
  std::optional<PackedDamage> Damage() const override { return source_.Damage(); }

 private:
  ByteSource& source_;
  const model::OnProgress& on_progress_;
  uint64_t read_ = 0;
};

// The loader goes through a trace twice, so that a packed one is unpacked first.
Result<model::Run> LoadPacked(ByteSource& source, const model::OnProgress& on_progress) {
  STALLSCOPE_ASSIGN_OR_RETURN(const UnpackedFile file, UnpackedFile::Make(source));
  Result<model::Run> run = model::LoadTrace(file.path(), on_progress);
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
  TellDamage(source, loaded.quality);
  return loaded;
}

const Format* FormatOf(const ByteSource& source) {
  if (IsOtherJson(source.head())) return nullptr;
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
  if (trace::TraceReader::LooksLikeTrace(source.head())) {
    return source.packed() ? LoadPacked(source, on_progress) : model::LoadTrace(path, on_progress);
  }
  if (const Format* const format = FormatOf(source)) return format->read(source);
  return UnknownFile(path, source.head(), source.packed());
}

}  // namespace stallscope::importers
