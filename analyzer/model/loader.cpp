#include "analyzer/model/loader.h"

#include <algorithm>
#include <utility>

#include "analyzer/base/file.h"
#include "analyzer/model/assembler.h"
#include "analyzer/model/loading.h"

namespace stallscope::model {
namespace {

constexpr uint64_t kTellEveryBytes = uint64_t{1} << 20;
constexpr double kCounting = 0.2;  // its part of the whole: nothing is decoded

// Tells how far a pass over the file is.
class Teller {
 public:
  Teller(const OnProgress& on_progress, uint64_t bytes)
      : on_progress_(on_progress), bytes_(static_cast<double>(std::max<uint64_t>(bytes, 1))) {}

  void BeginPass(double from, double to) {
    from_ = from;
    to_ = to;
    told_at_ = 0;
  }

  Status After(const trace::TraceReader& reader) {
    if (!on_progress_ || reader.offset() - told_at_ < kTellEveryBytes) return {};
    told_at_ = reader.offset();
    const double part = std::min(static_cast<double>(told_at_) / bytes_, 1.0);
    if (on_progress_(from_ + (to_ - from_) * part)) return {};
    return Error{ErrorKind::kInput, "the reading was ended", "", ""};
  }

 private:
  const OnProgress& on_progress_;
  const double bytes_;
  double from_ = 0;
  double to_ = 1;
  uint64_t told_at_ = 0;
};

Result<uint64_t> SizeOf(const std::string& path) {
  STALLSCOPE_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  return file.Size();
}

}  // namespace

Result<Run> LoadTrace(const std::string& path, const OnProgress& on_progress) {
  STALLSCOPE_ASSIGN_OR_RETURN(trace::TraceReader reader, OpenTrace(path));
  STALLSCOPE_ASSIGN_OR_RETURN(const uint64_t bytes, SizeOf(path));
  Teller teller(on_progress, bytes);
  const auto after = [&](const trace::TraceReader& at) { return teller.After(at); };
  Assembler assembler;
  {
    teller.BeginPass(0, kCounting);
    STALLSCOPE_ASSIGN_OR_RETURN(const Expected expected, CountAll(reader, after));
    assembler.Reserve(expected);
  }
  reader.Rewind();
  teller.BeginPass(kCounting, 1);
  STALLSCOPE_ASSIGN_OR_RETURN(const uint64_t chunks, DecodeAll(reader, assembler, after));
  const std::vector<std::string> limit_warnings = assembler.LimitWarnings();
  return Described(assembler.Finish(), reader, path, chunks, limit_warnings);
}

}  // namespace stallscope::model
