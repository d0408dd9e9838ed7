#include "analyzer/findings/named_ops.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "analyzer/attribution/window.h"
#include "analyzer/findings/facts.h"
#include "analyzer/findings/thresholds.h"
#include "analyzer/findings/traced_pipeline.h"
#include "analyzer/model/job_spec.h"

namespace stallscope::findings {
namespace {

struct FamilyWord {
  std::string_view word;
  OpFamily family;
};
// TensorFlow's kernels, then PyTorch's operators and the functions of their image libraries.
constexpr std::array kFamilyWords = {
    FamilyWord{"DecodeJpeg", OpFamily::kDecode},
    FamilyWord{"DecodePng", OpFamily::kDecode},
    FamilyWord{"DecodeImage", OpFamily::kDecode},
    FamilyWord{"image::decode_", OpFamily::kDecode},
    FamilyWord{"PIL/Image.py(): load", OpFamily::kDecode},
    FamilyWord{"ResizeBilinear", OpFamily::kResize},
    FamilyWord{"ResizeBicubic", OpFamily::kResize},
    FamilyWord{"ResizeArea", OpFamily::kResize},
    FamilyWord{"ResizeNearestNeighbor", OpFamily::kResize},
    FamilyWord{"ScaleAndTranslate", OpFamily::kResize},
    FamilyWord{"PIL/Image.py(): resize", OpFamily::kResize},
    FamilyWord{"EagerPyFunc", OpFamily::kPython},
    FamilyWord{"PyFunc", OpFamily::kPython},
    FamilyWord{"ReadFile", OpFamily::kReadFile},
    FamilyWord{"DecodeCSV", OpFamily::kParseText},
    FamilyWord{"h5py/_hl/dataset.py(): __getitem__", OpFamily::kHdf5},
    FamilyWord{"RandomUniform", OpFamily::kRandom},
    FamilyWord{"RandomStandardNormal", OpFamily::kRandom},
    FamilyWord{"StatelessRandom", OpFamily::kRandom},
    FamilyWord{"SampleDistortedBoundingBox", OpFamily::kRandom},
    FamilyWord{"StatelessSampleDistortedBoundingBox", OpFamily::kRandom},
    FamilyWord{"Cast", OpFamily::kCast},
    FamilyWord{"ReverseV2", OpFamily::kMove},
    FamilyWord{"Transpose", OpFamily::kMove},
    FamilyWord{"aten::_amp_update_scale_", OpFamily::kScaleUpdate},
    FamilyWord{"Optimizer.step#", OpFamily::kOptimizerStep},
    FamilyWord{"aten::_local_scalar_dense", OpFamily::kReadValue},
    FamilyWord{"cudaStreamSynchronize", OpFamily::kStreamSync},
    FamilyWord{"hipStreamSynchronize", OpFamily::kStreamSync},
};

// Without the line number of "PIL/Image.py(214): load", which differs between versions.
std::string WithoutLine(std::string_view name) {
  const size_t open = name.find(".py(");
  const size_t close = name.find(')', open);
  if (open == std::string_view::npos || close == std::string_view::npos) return std::string(name);
  return std::string(name.substr(0, open + 4)) + std::string(name.substr(close));
}

// Kernels are named "map/DecodeJpeg:DecodeJpeg" (place:type): the type counts.
std::optional<OpFamily> FamilyOf(std::string_view name) {
  const std::string plain = WithoutLine(name);
  const size_t colon = plain.rfind(':');
  const bool typed = colon != std::string::npos && colon > 0 && plain[colon - 1] != ':' &&
                     plain.find("::") == std::string::npos && plain.find(' ') == std::string::npos;
  const std::string_view type = typed ? std::string_view(plain).substr(colon + 1) : plain;
  // What cuts a part out of a tensor is a crop only where its place says so.
  if (typed && type == "Slice" && plain.find("crop") < colon) return OpFamily::kCrop;
  for (const FamilyWord& known : kFamilyWords) {
    if (type.starts_with(known.word)) return known.family;
  }
  return std::nullopt;
}

}  // namespace

bool IsOfFamily(std::string_view name, OpFamily family) { return FamilyOf(name) == family; }

std::string ShortName(std::string_view name) {
  const size_t colon = name.rfind(':');
  const bool typed = colon != std::string_view::npos && colon > 0 && name[colon - 1] != ':' &&
                     name.find(' ') == std::string_view::npos;
  return std::string(typed ? name.substr(colon + 1) : name);
}

std::optional<NamedOp> OpsOfFamily(const Case& c, OpFamily family) {
  if (!c.run.imported() && !model::IsJob(c.run)) return std::nullopt;
  std::vector<bool> wanted(c.run.span_classes.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const trace::SpanClass& what = c.run.span_classes[i];
    wanted[i] =
        what.activity != trace::SpanActivity::kNone && FamilyOf(c.run.Text(what.name)) == family;
  }
  if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return std::nullopt;
  struct Sum {
    uint64_t count = 0;
    int64_t ns = 0;
  };
  std::map<std::string, Sum> by_name;
  const bool of_trainer = family >= OpFamily::kScaleUpdate;
  const attribution::Window window =
      of_trainer ? attribution::WindowOfDevices(c.attribution.window) : c.attribution.window;
  for (const model::Track& track : c.run.tracks) {
    const trace::SpanColumns& spans = track.spans;
    int64_t inside_from = INT64_MAX;  // start of the enclosing op of the family, which counts once
    for (size_t i = spans.size(); i-- > 0;) {
      if (!wanted[spans.span_class[i]]) continue;
      const int64_t start = spans.start_ns[i];
      const int64_t end = start + spans.DurationNs(i);
      if (start >= inside_from || start < window.start_ns || start >= window.end_ns) continue;
      inside_from = start;
      Sum& sum = by_name[ShortName(c.run.Text(c.run.ClassOf(track, i).name))];
      ++sum.count;
      sum.ns += end - start;
    }
  }
  NamedOp all;
  int64_t most = -1;
  for (const auto& [name, sum] : by_name) {
    all.count += sum.count;
    all.ns += sum.ns;
    if (sum.ns > most) all.name = name;
    most = std::max(most, sum.ns);
  }
  return all.count > 0 ? std::optional(std::move(all)) : std::nullopt;
}

double PartOfWork(const Case& c, const NamedOp& op) {
  int64_t busy = 0;
  for (const auto& use : c.attribution.stages) {
    if (RoleOf(c, use.stage) == StageRole::kMap || IsDataLoader(c, use.stage)) busy += use.busy_ns;
  }
  if (busy <= 0) return 0;
  return std::min(1.0, static_cast<double>(op.ns) / static_cast<double>(busy));
}

StageId BusiestForWork(const Case& c) {
  StageId busiest;
  double most = 0;
  for (const auto& stage : c.run.stages) {
    if (!IsMap(c, stage.id) && !IsDataLoader(c, stage.id)) continue;
    const double share = BlamedForWork(c, stage.id);
    if (share <= most) continue;
    most = share;
    busiest = stage.id;
  }
  return busiest;
}

bool CallsPython(const Case& c, StageId stage) {
  if ((!c.run.imported() && !model::IsJob(c.run)) || stage.value >= c.run.stages.size()) {
    return false;
  }
  if (c.run.stages[stage.value].kind.find("Generator") != std::string::npos) return true;
  if (!IsMap(c, stage)) return false;
  // A function that mostly waits, for a store or in a sleep, has released Python's lock.
  const double waits = Blamed(c, stage, {Cause::kIo, Cause::kBlocked});
  if (waits > kMostlyWaits * BlamedForWork(c, stage)) return false;
  const std::optional<NamedOp> python = OpsOfFamily(c, OpFamily::kPython);
  return python.has_value() && PartOfWork(c, *python) >= kSlowOpShare;
}

}  // namespace stallscope::findings
