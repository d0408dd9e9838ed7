#include "analyzer/importers/foreign/byte_source.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "analyzer/base/file.h"
#include "analyzer/importers/foreign/gzip_source.h"

namespace stallscope::importers {
namespace {

class PlainSource final : public ByteSource {
 public:
  PlainSource(InputFile file, uint64_t size)
      : ByteSource(file.path(), false, size), file_(std::move(file)) {}

  Status Start() {
    head_.resize(kHeadBytes);
    STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, file_.ReadAt(0, head_.data(), head_.size()));
    head_.resize(got);
    return {};
  }

  Result<size_t> Read(char* into, size_t size) override {
    STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, file_.ReadAt(offset_, into, size));
    offset_ += got;
    return got;
  }

 private:
  InputFile file_;
  uint64_t offset_ = 0;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> ByteSource::Open(const std::string& path,
                                                     const UnpackLimits& limits) {
  STALLSCOPE_ASSIGN_OR_RETURN(InputFile file, InputFile::Open(path));
  STALLSCOPE_ASSIGN_OR_RETURN(const uint64_t size, file.Size());
  unsigned char magic[2] = {};
  STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, file.ReadAt(0, magic, sizeof magic));
  if (got == 2 && magic[0] == 0x1f && magic[1] == 0x8b) {
    return OpenGzip(std::move(file), size, limits);
  }
  auto source = std::make_unique<PlainSource>(std::move(file), size);
  STALLSCOPE_RETURN_IF_ERROR(source->Start());
  return std::unique_ptr<ByteSource>(std::move(source));
}

Result<std::string_view> ByteSource::Next() {
  block_.resize(BytesAtOnce(kBlockBytes));
  STALLSCOPE_ASSIGN_OR_RETURN(const size_t got, Read(block_.data(), block_.size()));
  return std::string_view(block_.data(), got);
}

Result<std::string> ReadAll(ByteSource& source, uint64_t limit) {
  std::string all;
  const size_t least = source.BytesAtOnce(ByteSource::kBlockBytes);
  for (;;) {
    const size_t before = all.size();
    all.resize(before + std::max(least, before / 2));
    STALLSCOPE_ASSIGN_OR_RETURN(const size_t got,
                                source.Read(all.data() + before, all.size() - before));
    const bool more = got == all.size() - before;
    all.resize(before + got);
    source.allowance().Charge(got);
    STALLSCOPE_RETURN_IF_ERROR(source.CheckAllowance());
    if (all.size() > limit) {
      return Error{ErrorKind::kInput,
                   "this file is too large to be read as a whole: more than " +
                       std::to_string(limit >> 20) + " MiB unpacked",
                   source.path(), "record fewer steps"};
    }
    if (!more) return all;
  }
}

void TellDamage(const ByteSource& source, model::DataQuality& quality) {
  const std::optional<PackedDamage> damage = source.Damage();
  if (!damage) return;
  quality.damaged_bytes += damage->bytes;
  // Where nothing lies behind the fault, the file was cut off there.
  if (damage->bytes == 0 && !quality.cut_at) quality.cut_at = damage->offset;
  quality.damaged_ranges.push_back({damage->offset, damage->bytes, damage->what});
  quality.warnings.push_back(source.path() + ": " + damage->what);
}

}  // namespace stallscope::importers
