// Row 22: pictures are decoded at a size of which most is thrown away.
#include <fmt/format.h>

#include "analyzer/findings/facts.h"
#include "analyzer/findings/rules/rules.h"
#include "analyzer/findings/spec_view.h"
#include "analyzer/findings/thresholds.h"
#include "analyzer/findings/workers.h"

namespace stallscope::findings {
namespace {

struct Scaling {
  size_t op = 0;   // the decode
  int64_t of = 1;  // 1/2, 1/4, 1/8: the only sizes that cost less than the whole
  int64_t side = 0;
};

// The file's bytes say how many pixels it has at least. A random crop keeps less than the whole, so
// that its picture must stay larger.
std::optional<Scaling> ScalingOf(const MapSpec& map, double bytes) {
  const std::vector<OpCall> ops = OpsOf(map);
  for (size_t i = 0; i + 1 < ops.size(); ++i) {
    if (ops[i].name() != "decode_jpeg" || ops[i].Integer("scale") != 8) continue;
    const OpCall& next = ops[i + 1];
    if (next.name() != "resize" && next.name() != "random_resized_crop") continue;
    const int64_t side = next.Integer("size");
    const double needed = next.name() == "resize" ? 1 : 2;
    for (int64_t of : {8, 4, 2}) {
      const double least = needed * static_cast<double>(side * of);
      if (bytes >= kMostJpegBytesPerPixel * least * least) return Scaling{i, of, side};
    }
  }
  return std::nullopt;
}

Patch Scaled(const std::string& stage, const MapSpec& map, const Scaling& scaling) {
  std::string json;
  const std::vector<OpCall> ops = OpsOf(map);
  for (size_t i = 0; i < ops.size(); ++i) {
    const bool crop = ops[i].name() == "decode_jpeg" && ops[i].Flag("crop");
    const std::string op = i != scaling.op ? ops[i].Text()
                                           : fmt::format("decode_jpeg(scale=1/{}{})", scaling.of,
                                                         crop ? ", crop=true" : "");
    json += (json.empty() ? "[\"" : ", \"") + op + "\"";
  }
  Patch patch;
  patch.changes.emplace_back(SetChange{stage + ".ops", json + "]"});
  return patch;
}

}  // namespace

void DecodeScaled(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, attribution::Category::kInputStall)) return;
  const double bytes = BytesOfElement(c);
  for (const auto& stage : c.run.stages) {
    const auto* map = As<MapSpec>(c, stage.id);
    const double share = BlamedForWork(c, stage.id);
    if (map == nullptr || map->on == MapOn::kDevice || share < kModerateShare) continue;
    const std::optional<Scaling> scaling = ScalingOf(*map, bytes);
    if (!scaling.has_value()) continue;
    Draft draft = About("decode-scaled", c, stage.id, share,
                        fmt::format("{} decodes whole pictures (files of {}) to make them {} "
                                    "pixels wide",
                                    stage.name, Size(bytes), scaling->side));
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: {} of step time waits for it", stage.name, Percent(share)));
    draft.words.value = std::to_string(scaling->of);
    // The entropy decoding, 70 % of a whole one, stays; what is left of it shrinks, and the resize.
    Recommend(draft, fmt::format("decode at 1/{} of the size", scaling->of),
              Scaled(stage.name, *map, *scaling), WithTimeTimes(stage.id, {0.9, 0.75, 0.6}));
    drafts.push_back(std::move(draft));
  }
}

}  // namespace stallscope::findings
