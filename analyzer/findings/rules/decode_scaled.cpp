// Row 22: pictures are decoded at full size, and most of it is thrown away.
#include "analyzer/findings/named_ops.h"
#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::decode_scaled {
namespace {

struct Scaling {
  size_t op = 0;   // the decode
  int64_t of = 1;  // 1/2, 1/4, 1/8: the only sizes that cost less than the whole
  int64_t side = 0;
  std::string later;  // the map that makes them so small, if it is not the decode's
};

// The file's size is a lower bound of its pixels. A random crop keeps less than the whole, so its
// picture must stay larger.
std::optional<Scaling> ScalingOf(const Spec& spec, const StageSpec& stage, double bytes) {
  const std::vector<OpCall> ops = OpsOf(std::get<MapSpec>(stage.kind));
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].name() != "decode_jpeg" || ops[i].Integer("scale") != 8) continue;
    const std::optional<NextOp> next = OpBehind(spec, stage, i);
    if (!next.has_value()) continue;
    const std::string_view name = next->call.name();
    if (name != "resize" && name != "random_resized_crop") continue;
    const int64_t side = next->call.Integer("size");
    const double needed = name == "resize" ? 1 : 2;
    for (int64_t of : {8, 4, 2}) {
      const double least = needed * static_cast<double>(side * of);
      if (bytes < kMostJpegBytesPerPixel * least * least) continue;
      return Scaling{i, of, side, next->stages_on > 0 ? next->stage->name : ""};
    }
  }
  return std::nullopt;
}

// Where the decode and what makes its images small are two functions.
constexpr Advice kForTwoMaps = {
    .tf_data =
        R"py(image = tf.io.decode_jpeg(data, channels=3, ratio={value})  # the next map stays)py",
    .pytorch = R"py(image = PIL.Image.open(file)
image.draft("RGB", (image.width // {value}, image.height // {value}))  # before it is loaded)py",
};

Patch Scaled(const std::string& stage, const MapSpec& map, const Scaling& scaling) {
  const std::vector<OpCall> ops = OpsOf(map);
  std::vector<std::string> texts = Texts(ops, 0, ops.size());
  texts[scaling.op] = fmt::format("decode_jpeg(scale=1/{}{})", scaling.of,
                                  ops[scaling.op].Flag("crop") ? ", crop=true" : "");
  Patch patch;
  patch.changes.emplace_back(SetOps(stage, texts));
  return patch;
}

// An imported run has no spec with ops, but the names that its framework gives them.
void FromNames(const Case& c, std::vector<Draft>& drafts) {
  const std::optional<NamedOp> decode = OpsOfFamily(c, OpFamily::kDecode);
  const std::optional<NamedOp> resize = OpsOfFamily(c, OpFamily::kResize);
  if (!decode.has_value() || !resize.has_value()) return;
  if (decode->name.find("Png") != std::string::npos) return;  // has no other size
  const StageId stage = BusiestForWork(c);
  if (!stage.known()) return;
  const double blamed = BlamedForWork(c, stage);
  const double part = PartOfWork(c, *decode);
  if (blamed * part < kModerateShare) return;
  Draft draft = About(c, stage, blamed * part,
                      fmt::format("{} of the time in {} goes to {}, and {} resizes the images",
                                  Percent(part), NameOf(c, stage), decode->name, resize->name));
  for (const NamedOp* const op : {&*decode, &*resize}) {
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: {} per call, {}", op->name,
                     Duration(static_cast<double>(op->ns) / static_cast<double>(op->count)),
                     Counted(op->count, "call")));
  }
  draft.args.value = "2";
  RecommendUnpriced(draft,
                    "if the images are at least twice as large as after resizing, decode them at "
                    "reduced size; if a crop follows, decode only the crop",
                    Patch(),
                    "this trace does not show how large the images are: record the change");
  drafts.push_back(std::move(draft));
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kInputStall)) return;
  if (!c.spec.has_value()) return FromNames(c, drafts);
  const double bytes = BytesOfElement(c);
  for (const auto& stage : c.run.stages) {
    const auto* map = As<MapSpec>(c, stage.id);
    const double share = BlamedForWork(c, stage.id);
    if (map == nullptr || map->on == MapOn::kDevice || share < kModerateShare) continue;
    const std::optional<Scaling> scaling = ScalingOf(*c.spec, *SpecOf(c, stage.id), bytes);
    if (!scaling.has_value()) continue;
    const std::string by = scaling->later.empty() ? "" : "for " + scaling->later + " ";
    Draft draft = About(c, stage.id, share,
                        fmt::format("{} of step time is spent waiting for {}, which decodes entire "
                                    "images (files of {}) only {}to make them {} pixels wide",
                                    Percent(share), stage.name, Bytes(bytes), by, scaling->side));
    ShowWaiting(draft, c, stage.id, share);
    draft.args.value = std::to_string(scaling->of);
    if (!scaling->later.empty()) draft.advice = &kForTwoMaps;
    RecommendUnpriced(draft, fmt::format("decode at 1/{} of the size", scaling->of),
                      Scaled(stage.name, *map, *scaling),
                      "a run does not show how long single ops take: " + ToMeasure(c));
    drafts.push_back(std::move(draft));
  }
}

}  // namespace

extern const Rule kRule = {
    .id = "decode-scaled",
    .row = 22,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .tf_data =
            R"py(image = tf.io.decode_jpeg(data, channels=3, ratio={value})  # or, followed by a crop:
image = tf.image.decode_and_crop_jpeg(data, [top, left, height, width], channels=3))py",
        .pytorch = R"py(image = PIL.Image.open(file)
image.draft("RGB", (image.width // {value}, image.height // {value}))  # before it is loaded)py",
    }};

}  // namespace stallscope::findings::decode_scaled
