// Row 1: text, a file per element or a library's lock makes reading slower than record files do.
#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::record_format {
namespace {

// Why this format is slow to read; nothing where it is not.
std::optional<std::string> Slowness(const Case& c, const SourceSpec& source) {
  const double bytes = BytesOfElement(c);
  if (source.format == SourceFormat::kCsv) return "CSV is text, and every number must be parsed";
  if (source.format == SourceFormat::kHdf5) return "HDF5 reads under a single library lock";
  const bool files = source.format == SourceFormat::kImages || source.format == SourceFormat::kRaw;
  if (files && bytes > 0 && bytes < static_cast<double>(kSmallFileBytes)) {
    return fmt::format("each element is a separate file, {} on average", Bytes(bytes));
  }
  return std::nullopt;
}

// Parsing the text is a map's work.
double ShareOfFormat(const Case& c, StageId source) {
  double share = Blamed(c, source,
                        {Cause::kIo, Cause::kCpu, Cause::kLock, Cause::kBlocked,
                         Cause::kCpuContention, Cause::kSerial});
  for (const auto& stage : c.run.stages) {
    const auto* map = As<MapSpec>(c, stage.id);
    if (map == nullptr) continue;
    const std::vector<OpCall> ops = OpsOf(*map);
    if (!ops.empty() && ops.front().name() == "decode_csv") share += BlamedForWork(c, stage.id);
  }
  return share;
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kInputStall)) return;
  for (const auto& stage : c.run.stages) {
    const auto* source = As<SourceSpec>(c, stage.id);
    if (source == nullptr) continue;
    const std::optional<std::string> why = Slowness(c, *source);
    const double share = ShareOfFormat(c, stage.id);
    if (!why.has_value() || share < kModerateShare) continue;
    Draft draft = About(c, stage.id, share,
                        fmt::format("{} of step time is the cost of the format that {} reads: {}",
                                    Percent(share), stage.name, *why));
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: format {}", stage.name, ToWord(source->format)));
    RecommendUnpriced(draft, "convert the data once, to TFRecord files of 100 MB or more", {},
                      "one run does not show how fast another format is: convert part of the data, "
                      "record a run on it, and compare");
    drafts.push_back(std::move(draft));
  }
}

}  // namespace

extern const Rule kRule = {
    .id = "record-format",
    .row = 1,
    .shortens = Parts(Category::kInputStall),
    .check = Check,
    .advice = {
        .tf_data =
            R"py(with tf.io.TFRecordWriter("data-00000.tfrecord") as writer:  # 100 MB or more per file
    for example in examples:
        writer.write(example.SerializeToString())
ds = tf.data.TFRecordDataset(tf.io.gfile.glob("data-*.tfrecord")))py",
        .dali = R"py(data = fn.readers.tfrecord(path=files, index_path=indexes, features={
    "image": tfrec.FixedLenFeature((), tfrec.string, ""),
    "label": tfrec.FixedLenFeature([1], tfrec.int64, -1)}))py",
        .grain =
            R"py(writer = array_record_module.ArrayRecordWriter("data.array_record", "group_size:1")
for record in records:
    writer.write(record)
writer.close()
ds = grain.MapDataset.source(grain.sources.ArrayRecordDataSource("data.array_record")))py",
    }};

}  // namespace stallscope::findings::record_format
