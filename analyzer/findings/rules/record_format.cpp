// Row 1: text, a file per element or a library's lock makes reading slower than record files do.
#include <algorithm>
#include <array>

#include "analyzer/base/escape.h"
#include "analyzer/findings/named_ops.h"
#include "analyzer/findings/rules/rule.h"

namespace stallscope::findings::record_format {
namespace {

// Every file that was read holds one element. Readers that take turns among files begin with the
// first of each.
bool FilePerElement(const Case& c) {
  const auto& elements = c.run.rows.elements;
  return elements.size() >= kElementsPerFileSeen &&
         std::all_of(elements.begin(), elements.end(),
                     [](const auto& element) { return element.record == 0; });
}

// Why this format is slow to read; nothing where it is not.
std::optional<std::string> Slowness(const Case& c, const SourceSpec& source) {
  const double bytes = BytesOfElement(c);
  if (source.format == SourceFormat::kCsv) return "CSV is text, and every number must be parsed";
  if (source.format == SourceFormat::kHdf5) return "HDF5 reads under a single library lock";
  const bool files =
      source.format == SourceFormat::kImages || (!source.files.empty() && FilePerElement(c));
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

// The source after `convert`: raw tensors if the format holds pixels, else records.
SourceFormat BetterThan(SourceFormat format) {
  return format == SourceFormat::kImages || format == SourceFormat::kTfrecord
             ? SourceFormat::kTfrecord
             : SourceFormat::kRaw;
}

// The folder of a pattern's files, up to the first part with a wildcard; the converted set is
// placed next to it.
std::string FolderOf(const SourceSpec& source) {
  std::string folder = source.files.front();
  const size_t wildcard = folder.find_first_of("*?[");
  const bool of_images = source.format == SourceFormat::kImages && wildcard == std::string::npos;
  if (!of_images) folder = folder.substr(0, folder.rfind('/', wildcard) + 1);
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  return folder.empty() || folder == "/" || folder == "." ? "data" : folder;
}

struct Converted {
  std::string command;
  Patch patch;
};

Converted ConvertedFrom(const Case& c, const std::string& stage, const SourceSpec& source) {
  const SourceFormat to = BetterThan(source.format);
  const std::string word(ToWord(to));
  const std::string folder = FolderOf(source) + "-" + word;
  std::vector<std::string> arguments = {"stallscope", "convert"};
  arguments.insert(arguments.end(), source.files.begin(), source.files.end());
  arguments.insert(arguments.end(), {"-o", folder, "--format", word});
  Converted converted{ShellCommand(arguments), {}};
  auto& changes = converted.patch.changes;
  changes.emplace_back(SetTo(stage + ".format", word));
  const std::string files = folder + "/*." + word;
  changes.emplace_back(SetChange{stage + ".files", "[" + SetTo("", files).value + "]"});
  for (const StageSpec& other : c.spec->stages) {
    const auto* map = As<MapSpec>(other);
    if (map == nullptr || source.format != SourceFormat::kCsv) continue;
    const std::vector<OpCall> ops = OpsOf(*map);
    if (ops.empty() || ops.front().name() != "decode_csv") continue;
    if (ops.size() == 1) {
      changes.emplace_back(RemoveChange{other.name});
    } else {
      changes.emplace_back(SetOps(other.name, Texts(ops, 1, ops.size())));
    }
  }
  converted.patch = IfItChanges(c, std::move(converted.patch));
  return converted;
}

struct SlowRead {
  OpFamily family;
  std::string_view why;
};
constexpr std::array kSlowReads = {
    SlowRead{OpFamily::kReadFile, "each element is a separate file"},
    SlowRead{OpFamily::kParseText, "CSV is text, and every number must be parsed"},
    SlowRead{OpFamily::kHdf5, "HDF5 reads under a single library lock"},
};

// An imported run has no format of a spec, but the names of its framework's operations.
void FromNames(const Case& c, std::vector<Draft>& drafts) {
  for (const SlowRead& slow : kSlowReads) {
    const std::optional<NamedOp> read = OpsOfFamily(c, slow.family);
    if (!read.has_value()) continue;
    const StageId stage = BusiestForWork(c);
    const double share = BlamedForWork(c, stage) * PartOfWork(c, *read);
    if (!stage.known() || share < kModerateShare) continue;
    Draft draft = About(c, stage, share,
                        fmt::format("{} of step time goes to {} in {}: {}", Percent(share),
                                    read->name, NameOf(c, stage), slow.why));
    Show(draft, Evidence::Kind::kSpans,
         fmt::format("{}: {} per call, {}", read->name,
                     Duration(static_cast<double>(read->ns) / static_cast<double>(read->count)),
                     Counted(read->count, "call")));
    RecommendUnpriced(draft, "write the data to record files once, and read those", Patch(),
                      "this trace does not show how fast another format is: record it with one");
    drafts.push_back(std::move(draft));
  }
}

void Check(const Case& c, const Load*, std::vector<Draft>& drafts) {
  if (!Worth(c, Category::kInputStall)) return;
  if (!c.spec.has_value()) return FromNames(c, drafts);
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
    if (source->files.empty()) continue;
    Converted converted = ConvertedFrom(c, stage.name, *source);
    RecommendUnpriced(draft, "convert the data once: " + converted.command,
                      std::move(converted.patch),
                      "this run does not show how fast records can be read: convert the data, and "
                      "`stallscope replay --verify` measures it");
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
        .pytorch =
            R"py(with wds.ShardWriter("data-%05d.tar", maxsize=250e6) as sink:  # import webdataset as wds
    for i, (file, label) in enumerate(dataset.samples):
        sink.write({"__key__": f"{i:08d}", "jpg": open(file, "rb").read(), "cls": label})
dataset = wds.WebDataset("data-{00000..00009}.tar", shardshuffle=100).shuffle(1000).decode("pil"))py",
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
