#include "collectors/data/convert_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <utility>

#include "analyzer/base/thread.h"
#include "collectors/data/csv_image.h"
#include "collectors/data/example.h"
#include "collectors/data/jpeg.h"
#include "collectors/data/png.h"
#include "collectors/data/set_place.h"
#include "collectors/data/set_reader.h"
#include "collectors/data/set_writer.h"

namespace stallscope::data {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kBytesPerShard = uint64_t{256} << 20;
constexpr int64_t kFewestShards = 4;
constexpr int64_t kMostShards = 99'999;
constexpr int64_t kMostClasses = 100'000;
// Items read before they are decoded in parallel.
constexpr size_t kItemsPerThread = 4;
constexpr size_t kMostItemBytes = size_t{64} << 20;

bool HoldsPixels(DataFormat format) {
  return format == DataFormat::kCsv || format == DataFormat::kHdf5 || format == DataFormat::kRaw;
}
bool HoldsPixels(FileKind kind) {
  return kind == FileKind::kText || kind == FileKind::kHdf5 || kind == FileKind::kRawTensors;
}

std::string TextOf(const FeatureView* feature) {
  if (feature == nullptr) return "";
  const auto bytes = OneBytes(*feature);
  return bytes.ok() ? std::string(AsText(bytes.value())) : "";
}

// Reads the fields of a record or row besides its pixels: label, class, name.
Status ReadClass(SourceItem& item) {
  if (item.kind == FileKind::kText) {
    const std::string_view row = AsText(item.bytes);
    if (std::from_chars(row.data(), row.data() + row.size(), item.label).ec == std::errc()) {
      return {};
    }
    return Error{ErrorKind::kRun, "the row does not begin with a label", "",
                 "write rows as label,height,width,pixels or label,pixels"};
  }
  if (item.kind != FileKind::kTfRecord) return {};
  ExampleView view;
  STALLSCOPE_RETURN_IF_ERROR(view.Reset(item.bytes));
  item.label = 0;
  if (const FeatureView* const label = view.FindAny(kLabelFeatures); label != nullptr) {
    STALLSCOPE_ASSIGN_OR_RETURN(item.label, OneInt64(*label));
  }
  item.class_name = TextOf(view.Find("image/class/text"));
  item.file_name = TextOf(view.Find("image/filename"));
  return {};
}

Result<ByteView> EncodedIn(const SourceItem& item, ExampleView& view) {
  if (item.kind != FileKind::kTfRecord) return item.bytes.view();
  STALLSCOPE_RETURN_IF_ERROR(view.Reset(item.bytes));
  const FeatureView* const image = view.FindAny(kImageFeatures);
  if (image != nullptr) return OneBytes(*image);
  return Error{ErrorKind::kRun, "the record has none of the usual image features", "",
               "write the image as image/encoded, and its class as image/class/label"};
}

struct ImageSize {
  int64_t height = 0;
  int64_t width = 0;
};
Result<ImageSize> SizeOfEncoded(ByteView encoded) {
  if (LooksLikePng(encoded)) {
    STALLSCOPE_ASSIGN_OR_RETURN(const PngHeader header, ReadPngHeader(encoded));
    return ImageSize{header.height, header.width};
  }
  STALLSCOPE_ASSIGN_OR_RETURN(const JpegHeader header, ReadJpegHeader(encoded));
  return ImageSize{header.height, header.width};
}

// The result of the first pass over the source.
struct Survey {
  int64_t images = 0;
  int64_t most_label = -1;
  std::map<int64_t, std::string> class_names;
  DType dtype = DType::kUint8;
  std::optional<Shape> shape;  // of all images; nothing if the format does not need it
  std::string first;           // the place of the first image
};

class Surveyor {
 public:
  Surveyor(DataFormat to, const SourceSet& set, Survey& survey)
      : to_(to),
        copies_(to == DataFormat::kTfRecord && set.kind == FileKind::kTfRecord),
        survey_(survey) {}

  Status Look(SourceItem& item) {
    ++survey_.images;
    Status read = ReadClass(item);
    // A copied record may hold anything.
    if (!read.ok()) return copies_ ? Status() : read;
    survey_.most_label = std::max(survey_.most_label, item.label);
    if (!item.class_name.empty()) survey_.class_names.emplace(item.label, item.class_name);
    if (to_ == DataFormat::kImages && (item.label < 0 || item.label >= kMostClasses)) {
      return Error{ErrorKind::kUsage,
                   fmt::format("label {} is out of range: an image folder has classes 0 to {}",
                               item.label, kMostClasses - 1),
                   item.place, "convert to another format"};
    }
    return HoldsPixels(to_) ? LookAtShape(item) : Status();
  }

 private:
  Status LookAtShape(SourceItem& item) {
    if (item.kind == FileKind::kText) {
      STALLSCOPE_RETURN_IF_ERROR(DecodeCsvImage(AsText(item.bytes), item.pixels));
    }
    Shape shape = item.pixels.shape();
    DType dtype = item.pixels.dtype();
    if (!HoldsPixels(item.kind)) {
      STALLSCOPE_ASSIGN_OR_RETURN(const ByteView encoded, EncodedIn(item, view_));
      STALLSCOPE_ASSIGN_OR_RETURN(const ImageSize size, SizeOfEncoded(encoded));
      shape = {size.height, size.width, 3};
      dtype = DType::kUint8;
    }
    if (!survey_.shape.has_value()) {
      survey_.shape = shape;
      survey_.dtype = dtype;
      survey_.first = item.place;
    }
    if (shape == *survey_.shape && dtype == survey_.dtype) return {};
    return Error{ErrorKind::kUsage,
                 fmt::format("images differ in size: {} here, {} in {}", shape.ToString(),
                             survey_.shape->ToString(), survey_.first),
                 item.place, "convert to tfrecord or images, which keep each image's size"};
  }

  const DataFormat to_;
  const bool copies_;
  Survey& survey_;
  ExampleView view_;
};

// Turns items into samples. One per item in progress.
class Codec {
 public:
  Status Make(SourceItem& item, DataFormat to, Sample& into) {
    into.label = item.label;
    into.bytes.Clear();
    if (to == DataFormat::kTfRecord && item.kind == FileKind::kTfRecord) {
      std::swap(into.bytes, item.bytes);
      return {};
    }
    if (item.kind == FileKind::kText) {
      STALLSCOPE_RETURN_IF_ERROR(DecodeCsvImage(AsText(item.bytes), item.pixels));
    }
    if (HoldsPixels(to)) {
      if (HoldsPixels(item.kind)) {
        std::swap(into.pixels, item.pixels);
      } else {
        STALLSCOPE_RETURN_IF_ERROR(Decode(item, into.pixels));
      }
      if (to == DataFormat::kCsv) AppendCsvImage(into.label, into.pixels, into.bytes);
      return {};
    }
    ByteView encoded;
    if (HoldsPixels(item.kind)) {
      png_.Clear();
      STALLSCOPE_RETURN_IF_ERROR(EncodePng(item.pixels, png_));
      encoded = png_;
    } else {
      STALLSCOPE_ASSIGN_OR_RETURN(encoded, EncodedIn(item, view_));
    }
    if (to == DataFormat::kTfRecord) return MakeRecord(item, encoded, into.bytes);
    into.bytes.Append(encoded);
    return {};
  }

 private:
  Status Decode(const SourceItem& item, Tensor& into) {
    STALLSCOPE_ASSIGN_OR_RETURN(const ByteView encoded, EncodedIn(item, view_));
    if (LooksLikePng(encoded)) return DecodePng(encoded, {}, into);
    const auto decoded = jpeg_.Decode(encoded, {}, into);
    return decoded.ok() ? Status() : Status(decoded.error());
  }

  static Status MakeRecord(const SourceItem& item, ByteView encoded, Buffer& into) {
    STALLSCOPE_ASSIGN_OR_RETURN(const ImageSize size, SizeOfEncoded(encoded));
    Example example = ImageExample(encoded, LooksLikePng(encoded) ? "PNG" : "JPEG", item.label,
                                   size.height, size.width);
    if (!item.class_name.empty()) example["image/class/text"] = BytesList{item.class_name};
    if (!item.file_name.empty()) example["image/filename"] = BytesList{item.file_name};
    return SerializeExample(example, into);
  }

  ExampleView view_;
  JpegDecoder jpeg_;
  Buffer png_;
};

// Makes a single file name that needs no quoting.
bool IsPlainName(const std::string& name) {
  return !name.empty() && name.size() <= 200 && name.front() != '.' && name != kManifestFile &&
         std::none_of(name.begin(), name.end(), [](char letter) {
           return letter == '/' || (letter >= 0 && letter < 0x20) || letter == 0x7f;
         });
}

// The folders of the classes, by label. Class names serve only if their order is that of the
// labels, because readers take labels from the order of the folders.
std::vector<std::string> FoldersOf(const std::vector<std::string>& class_names, int64_t classes) {
  const bool named = static_cast<int64_t>(class_names.size()) >= classes &&
                     std::all_of(class_names.begin(), class_names.end(), &IsPlainName) &&
                     std::adjacent_find(class_names.begin(), class_names.end(),
                                        std::greater_equal<>()) == class_names.end();
  if (named) return class_names;
  std::vector<std::string> folders;
  for (int label = 0; label < classes; ++label) {
    folders.push_back(ClassFolder(label, static_cast<int>(classes)));
  }
  return folders;
}

// Names images in their folders, each name once.
class FileNames {
 public:
  std::string Take(const SourceItem& item, const std::string& folder, int64_t image) {
    std::string name = folder + "/" + item.file_name;
    if (!IsPlainName(item.file_name) || used_.count(name) != 0) {
      const char* const ending = EndingOf(item);
      name = fmt::format("{}/img_{:08}{}", folder, image, ending);
      for (int other = 2; used_.count(name) != 0; ++other) {
        name = fmt::format("{}/img_{:08}_{}{}", folder, image, other, ending);
      }
    }
    used_.insert(name);
    return name;
  }

 private:
  const char* EndingOf(const SourceItem& item) {
    if (HoldsPixels(item.kind)) return ".png";
    const auto encoded = EncodedIn(item, view_);
    return encoded.ok() && LooksLikePng(encoded.value()) ? ".png" : ".jpg";
  }

  ExampleView view_;
  std::unordered_set<std::string> used_;
};

class Conversion {
 public:
  Conversion(const ConvertOptions& options, const SourceSet& set,
             const OnConvertProgress& on_progress)
      : options_(options), set_(set), on_progress_(on_progress) {
    const auto cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    threads_ = static_cast<unsigned>(options.threads > 0 ? options.threads : cores);
    work_.resize(threads_ * kItemsPerThread);
    for (Work& work : work_) work.item.kind = set.kind;
  }

  Status Count() {
    const bool by_files = set_.kind == FileKind::kJpeg && !HoldsPixels(options_.format);
    if (by_files) {
      survey_.images = static_cast<int64_t>(set_.files.size());
    } else {
      Surveyor surveyor(options_.format, set_, survey_);
      STALLSCOPE_RETURN_IF_ERROR(ForEachItem(set_, [&](SourceItem& item) -> Result<bool> {
        Status looked = surveyor.Look(item);
        if (!looked.ok()) return At(std::move(looked).error(), item);
        return GoesOn({survey_.images, 0});
      }));
    }
    if (stopped_) return Stopped();
    if (survey_.images == 0) {
      return Error{ErrorKind::kInput, "no images", set_.files.front(), "name a data set"};
    }
    return CheckPixels();
  }

  Result<Manifest> Write(const std::string& folder) {
    const SetLayout layout = LayoutIn(folder);
    STALLSCOPE_ASSIGN_OR_RETURN(writer_, MakeSetWriter(layout));
    folders_ = layout.class_folders;
    const auto take = [&](SourceItem& item) -> Result<bool> {
      STALLSCOPE_RETURN_IF_ERROR(Take(item));
      return !stopped_;
    };
    STALLSCOPE_RETURN_IF_ERROR(ForEachItem(set_, take));
    if (!stopped_) STALLSCOPE_RETURN_IF_ERROR(Flush());
    if (stopped_) return Stopped();
    Manifest manifest;
    manifest.format = options_.format;
    manifest.images = survey_.images;
    if (const auto& shape = survey_.shape; shape.has_value() && shape->rank() == 3) {
      manifest.height = static_cast<int>((*shape)[0]);
      manifest.width = static_cast<int>((*shape)[1]);
    }
    manifest.classes = static_cast<int>(Classes());
    manifest.shards = layout.shards;
    manifest.class_names = ClassNames();
    STALLSCOPE_ASSIGN_OR_RETURN(manifest.files, writer_->Finish());
    STALLSCOPE_RETURN_IF_ERROR(MeasureFiles(folder, manifest));
    STALLSCOPE_RETURN_IF_ERROR(WriteManifest(folder, manifest));
    return manifest;
  }

  bool stopped() const { return stopped_; }
  int Shards() const {
    if (options_.format == DataFormat::kImages) return 0;
    const auto by_size = static_cast<int64_t>(set_.bytes / kBytesPerShard);
    const int64_t wanted =
        options_.shards.value_or(static_cast<int>(std::clamp(by_size, kFewestShards, kMostShards)));
    return static_cast<int>(std::min(wanted, survey_.images));
  }

 private:
  struct Work {
    SourceItem item;
    Sample sample;
    Codec codec;
    int64_t image = 0;
    Status done;
  };

  static Error At(Error error, const SourceItem& item) {
    if (error.where != item.place) {
      error.where = error.where.empty() ? item.place : item.place + ", " + error.where;
    }
    return error;
  }

  bool GoesOn(const ConvertProgress& progress) {
    stopped_ = stopped_ || (on_progress_ && !on_progress_(progress));
    return !stopped_;
  }

  Error Stopped() const {
    return Error{ErrorKind::kRun,
                 fmt::format("stopped at {} of {} images", written_, survey_.images),
                 options_.folder, "run the same command to continue"};
  }

  // Whether these tensors count as images for formats that need images.
  Status CheckPixels() const {
    if (set_.kind != FileKind::kRawTensors || options_.format == DataFormat::kRaw) return {};
    std::optional<Error> wrong;
    STALLSCOPE_RETURN_IF_ERROR(ForEachItem(set_, [&](SourceItem& item) -> Result<bool> {
      const Shape& shape = item.pixels.shape();
      if (item.pixels.dtype() != DType::kUint8 || shape.rank() != 3 || shape[2] != 3) {
        wrong = Error{ErrorKind::kUsage,
                      fmt::format("{} tensors of {} are not images", Name(item.pixels.dtype()),
                                  shape.ToString()),
                      item.place, "use --format raw"};
      }
      return false;
    }));
    return wrong.has_value() ? Status(*wrong) : Status();
  }

  int64_t Classes() const {
    const auto named = static_cast<int64_t>(ClassNames().size());
    return std::max({survey_.most_label + 1, named, int64_t{1}});
  }

  // By label, if the source names all of them.
  std::vector<std::string> ClassNames() const {
    if (!set_.class_names.empty()) return set_.class_names;
    std::vector<std::string> names;
    for (const auto& [label, name] : survey_.class_names) {
      if (label != static_cast<int64_t>(names.size())) return {};
      names.push_back(name);
    }
    return survey_.most_label + 1 == static_cast<int64_t>(names.size())
               ? names
               : std::vector<std::string>();
  }

  SetLayout LayoutIn(const std::string& folder) const {
    SetLayout layout{folder,   options_.format, survey_.images,
                     Shards(), survey_.dtype,   survey_.shape.value_or(Shape()),
                     {}};
    if (options_.format == DataFormat::kImages) {
      layout.class_folders = FoldersOf(ClassNames(), Classes());
    }
    return layout;
  }

  Status Take(SourceItem& item) {
    const int64_t image = read_++;
    Work& work = work_[waiting_];
    work.sample.name.clear();
    Status read = ReadClass(item);
    const bool copied =
        options_.format == DataFormat::kTfRecord && item.kind == FileKind::kTfRecord;
    if (!read.ok() && !copied) return At(std::move(read).error(), item);
    if (image >= survey_.images) return Changed(item);
    if (options_.format == DataFormat::kImages) {
      if (static_cast<size_t>(item.label) >= folders_.size()) return Changed(item);
      work.sample.name = names_.Take(item, folders_[static_cast<size_t>(item.label)], image);
    } else if (item.kind != FileKind::kJpeg && item.class_name.empty() && item.label >= 0 &&
               static_cast<size_t>(item.label) < set_.class_names.size()) {
      item.class_name = set_.class_names[static_cast<size_t>(item.label)];
    }
    if (writer_->Has(image, work.sample.name)) {
      written_ = image + 1;
      return {};
    }
    waiting_bytes_ += item.bytes.size() + item.pixels.bytes();
    std::swap(work.item, item);
    item.kind = set_.kind;
    work.image = image;
    ++waiting_;
    const bool full = waiting_ == work_.size() || waiting_bytes_ >= kMostItemBytes;
    return full ? Flush() : Status();
  }

  Error Changed(const SourceItem& item) const {
    return Error{ErrorKind::kRun, "the source changed while it was read", item.place,
                 "start again once nothing writes to it"};
  }

  Status Flush() {
    ForEachParallel(waiting_, threads_, [&](size_t at) {
      Work& work = work_[at];
      work.done = Guarded([&] { return work.codec.Make(work.item, options_.format, work.sample); });
    });
    const size_t count = std::exchange(waiting_, 0);
    for (size_t at = 0; at < count; ++at) {
      Work& work = work_[at];
      if (!work.done.ok()) return At(work.done.error(), work.item);
      STALLSCOPE_RETURN_IF_ERROR(writer_->Write(work.image, work.sample));
      written_ = work.image + 1;
    }
    waiting_bytes_ = 0;
    GoesOn({written_, survey_.images});
    return {};
  }

  const ConvertOptions& options_;
  const SourceSet& set_;
  const OnConvertProgress& on_progress_;
  unsigned threads_ = 1;
  Survey survey_;
  std::unique_ptr<SetWriter> writer_;
  std::vector<std::string> folders_;
  FileNames names_;
  std::vector<Work> work_;
  size_t waiting_ = 0;
  size_t waiting_bytes_ = 0;
  int64_t read_ = 0;
  int64_t written_ = 0;
  bool stopped_ = false;
};

// Whether `folder` is `inner` or one of its parents.
bool Holds(const fs::path& folder, const fs::path& inner) {
  std::error_code unknown;
  for (fs::path at = inner;; at = at.parent_path()) {
    if (fs::equivalent(folder, at, unknown)) return true;
    if (at == at.parent_path()) return false;
  }
}

// Refuses to write onto an input or into one: the output would be part of the next conversion's
// source.
Status CheckFolder(const ConvertOptions& options, const SourceSet& set) {
  std::error_code unknown;
  const fs::path folder = fs::weakly_canonical(fs::absolute(options.folder, unknown), unknown);
  std::set<fs::path> parents;
  for (const std::string& file : set.files) parents.insert((fs::path(".") / file).parent_path());
  for (const fs::path& parent : parents) {
    const fs::path inner = fs::weakly_canonical(fs::absolute(parent, unknown), unknown);
    if (Holds(folder, inner)) {
      return Error{ErrorKind::kUsage, "the output folder contains the source", options.folder,
                   "name another folder"};
    }
  }
  for (const std::string& source : options.sources) {
    if (fs::is_directory(source, unknown) && Holds(fs::canonical(source, unknown), folder)) {
      return Error{ErrorKind::kUsage, "the output folder is inside the source", options.folder,
                   "name another folder"};
    }
  }
  return {};
}

}  // namespace

Result<Manifest> Convert(const ConvertOptions& options, const OnConvertProgress& on_progress) {
  if (options.shards && (*options.shards < 1 || *options.shards > kMostShards)) {
    return Error{ErrorKind::kUsage, fmt::format("--shards {} is out of range", *options.shards), "",
                 "use 1 to 99999"};
  }
  STALLSCOPE_ASSIGN_OR_RETURN(const SourceSet set, FindSourceSet(options.sources));
  STALLSCOPE_RETURN_IF_ERROR(CheckFolder(options, set));
  Conversion conversion(options, set, on_progress);
  STALLSCOPE_RETURN_IF_ERROR(conversion.Count());
  const std::string plan =
      fmt::format("{} to {} in {}", set.fingerprint, Name(options.format), conversion.Shards());
  STALLSCOPE_ASSIGN_OR_RETURN(SetPlace place, SetPlace::Resume(options.folder, plan));
  Result<Manifest> written = conversion.Write(place.work());
  if (!written.ok()) {
    if (!conversion.stopped()) place.Discard();
    return place.Renamed(std::move(written).error());
  }
  STALLSCOPE_RETURN_IF_ERROR(place.Publish());
  return written;
}

}  // namespace stallscope::data
