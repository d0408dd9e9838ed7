// The reader reads any text or says why not in one line; what it read is written and read back
// unchanged. The same for patches, and for the example with such a patch applied.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "analyzer/spec/knobs.h"
#include "analyzer/spec/ops.h"
#include "analyzer/spec/patch.h"
#include "analyzer/spec/spec_json.h"
#include "analyzer/spec/validate.h"

namespace {

using namespace stallscope;

void Require(bool holds) {
  if (!holds) std::abort();
}

void RequireGoodError(const Error& error) {
  Require(error.kind == ErrorKind::kUsage);
  Require(!error.what.empty());
  Require(error.Line().find('\n') == std::string::npos);
  Require(error.Line().size() < 1000);
}

void RequireRoundTrip(const Spec& spec) {
  Require(Validate(spec).ok());
  const std::string text = WriteSpec(spec);
  const Result<Spec> again = ReadSpec(text, "again");
  // Indentation may make a text too large that was just small enough.
  if (!again.ok() && text.size() > kMaxSpecBytes) return;
  Require(again.ok() && again.value() == spec);
  Require(WriteSpec(again.value()) == text);
}

void TryPatch(std::string_view text) {
  const Result<Patch> patch = ReadPatch(text, "fuzz");
  if (!patch.ok()) return RequireGoodError(patch.error());
  const Result<Patch> again = ReadPatch(WritePatch(patch.value(), JsonLayout::kOneLine), "again");
  Require(again.ok() && again.value() == patch.value());
  Spec base;
  base.stages = {{"read", SourceSpec{.format = SourceFormat::kSynthetic}},
                 {"decode", MapSpec{.ops = {"decode_jpeg"}}},
                 {"cache", CacheSpec{}},
                 {"batch", BatchSpec{.size = 8}}};
  const Result<Spec> patched = Apply(base, patch.value());
  if (!patched.ok()) return RequireGoodError(patched.error());
  RequireRoundTrip(patched.value());
  const Result<Spec> rebuilt = Apply(base, Diff(base, patched.value()));
  Require(rebuilt.ok() && rebuilt.value() == patched.value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<Spec> spec = ReadSpec(text, "fuzz");
  if (spec.ok()) {
    RequireRoundTrip(spec.value());
  } else {
    RequireGoodError(spec.error());
  }
  TryPatch(text);
  const Result<OpCall> op = ParseOp(text);
  if (op.ok()) Require(ParseOp(op.value().Text()).value() == op.value());
  return 0;
}
