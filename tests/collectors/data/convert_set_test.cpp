#include "collectors/data/convert_set.h"

#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analyzer/base/file.h"
#include "collectors/data/csv_image.h"
#include "collectors/data/example.h"
#include "collectors/data/generate.h"
#include "collectors/data/jpeg.h"
#include "collectors/data/png.h"
#include "collectors/data/raw_tensors.h"
#include "collectors/data/tfrecord.h"
#include "tests/support/child.h"
#include "tests/support/paths.h"

namespace fs = std::filesystem;
using namespace stallscope::data;  // NOLINT(google-build-using-namespace)
using stallscope::ErrorKind;
using stallscope::ReadWholeFile;
using stallscope::WriteFileAtomically;
using stallscope::test::ScratchDir;

namespace {

void MakeSet(const std::string& folder, DataFormat format, int64_t images = 11) {
  GenerateOptions options;
  options.folder = folder;
  options.format = format;
  options.images = images;
  options.width = 40;
  options.height = 24;
  options.classes = 3;
  options.shards = 3;
  REQUIRE(Generate(options).ok());
}

ConvertOptions To(const std::string& from, const std::string& folder, DataFormat format) {
  ConvertOptions options;
  options.sources = {from};
  options.folder = folder;
  options.format = format;
  options.shards = 3;
  options.threads = 2;
  return options;
}

Manifest MustConvert(const ConvertOptions& options, const OnConvertProgress& on_progress = {}) {
  const auto made = Convert(options, on_progress);
  REQUIRE_MESSAGE(made.ok(), made.error().Line());
  return made.value();
}

// Every file in the folder except the manifest, with its content.
std::map<std::string, std::string> FilesBelow(const std::string& folder) {
  std::map<std::string, std::string> content;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = fs::relative(entry.path(), folder).string();
    if (name == kManifestFile) continue;
    content[name] = entry.is_directory() ? "" : ReadWholeFile(entry.path(), 1 << 26).value();
  }
  return content;
}

Tensor Gray(int height, int width, uint8_t value) {
  Tensor image(DType::kUint8, {height, width, 3});
  for (uint8_t& pixel : image.Values<uint8_t>()) pixel = value++;
  return image;
}

void WriteImage(const std::string& path, const Tensor& image) {
  fs::create_directories(fs::path(path).parent_path());
  Buffer bytes;
  if (path.ends_with(".png")) {
    REQUIRE(EncodePng(image, bytes).ok());
  } else {
    REQUIRE(JpegEncoder().Encode(image, {}, bytes).ok());
  }
  REQUIRE(WriteFileAtomically(path, AsText(bytes)).ok());
}

// Scratch folders of a conversion next to `name`.
size_t ScratchFolders(const std::string& folder) {
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    count += entry.path().filename().string().starts_with(".stallscope-") ? 1u : 0u;
  }
  return count;
}

// Stops after some images.
OnConvertProgress StopAt(int64_t images) {
  return [images](const ConvertProgress& at) { return at.images == 0 || at.done < images; };
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("images to TFRecord and back: the same files, names and classes") {
    ScratchDir dir;
    WriteImage(dir / "photos/cat/a.jpg", Gray(20, 30, 1));
    WriteImage(dir / "photos/cat/b.png", Gray(8, 8, 2));
    WriteImage(dir / "photos/dog/a.jpg", Gray(31, 17, 3));
    fs::create_directories(dir / "photos/eel");  // a class without images
    const Manifest records =
        MustConvert(To(dir / "photos", dir / "records", DataFormat::kTfRecord));
    CHECK(records.images == 3);
    CHECK(records.classes == 3);
    CHECK(records.class_names == std::vector<std::string>{"cat", "dog", "eel"});
    MustConvert(To(dir / "records", dir / "again", DataFormat::kImages));
    CHECK(FilesBelow(dir / "again") == FilesBelow(dir / "photos"));
  }

  TEST_CASE("a record has its image's size, format, class and name") {
    ScratchDir dir;
    WriteImage(dir / "photos/cat/b.png", Gray(8, 9, 2));
    auto options = To(dir / "photos", dir / "records", DataFormat::kTfRecord);
    options.shards = 1;
    MustConvert(options);
    auto reader = TfRecordReader::Open(dir / "records/data-00000-of-00001.tfrecord");
    REQUIRE(reader.ok());
    const auto record = reader.value().Next();
    REQUIRE(record.ok());
    Example example = ParseExample(record.value()->payload).value();
    CHECK(std::get<BytesList>(example["image/encoded"]).at(0) ==
          ReadWholeFile(dir / "photos/cat/b.png", 1 << 20).value());
    CHECK(std::get<Int64List>(example["image/class/label"]).at(0) == 0);
    CHECK(std::get<BytesList>(example["image/class/text"]).at(0) == "cat");
    CHECK(std::get<BytesList>(example["image/filename"]).at(0) == "b.png");
    CHECK(std::get<BytesList>(example["image/format"]).at(0) == "PNG");
    CHECK(std::get<Int64List>(example["image/height"]).at(0) == 8);
    CHECK(std::get<Int64List>(example["image/width"]).at(0) == 9);
  }

  TEST_CASE("pixels go through every format and come back byte for byte") {
    ScratchDir dir;
    MakeSet(dir / "csv", DataFormat::kCsv);
    std::string from = dir / "csv";
    for (const DataFormat format :
         {DataFormat::kHdf5, DataFormat::kTfRecord, DataFormat::kRaw, DataFormat::kCsv}) {
      const std::string to = from + "-" + std::string(Name(format));
      const Manifest made = MustConvert(To(from, to, format));
      CHECK(made.images == 11);
      CHECK(made.files.size() == 3);
      from = to;
    }
    CHECK(FilesBelow(from) == FilesBelow(dir / "csv"));
  }

  TEST_CASE("generated records become the generator's own image folder") {
    ScratchDir dir;
    MakeSet(dir / "records", DataFormat::kTfRecord);
    MakeSet(dir / "images", DataFormat::kImages);
    MustConvert(To(dir / "records", dir / "converted", DataFormat::kImages));
    CHECK(FilesBelow(dir / "converted") == FilesBelow(dir / "images"));
    // JPEGs are decoded for formats that hold pixels.
    MakeSet(dir / "hdf5", DataFormat::kHdf5);
    MustConvert(To(dir / "records", dir / "pixels", DataFormat::kHdf5));
    CHECK(FilesBelow(dir / "pixels") == FilesBelow(dir / "hdf5"));
  }

  TEST_CASE("records and tensors that are no images are copied to their own format only") {
    ScratchDir dir;
    fs::create_directories(dir / "in");
    auto writer = TfRecordWriter::Create(dir / "in/any.tfrecord");
    REQUIRE(writer.ok());
    for (const char* const text : {"one", "two"}) {
      REQUIRE(writer.value().Write(AsBytes(text)).ok());
    }
    REQUIRE(writer.value().Finish().ok());
    CHECK(MustConvert(To(dir / "in", dir / "out", DataFormat::kTfRecord)).images == 2);
    CHECK_FALSE(Convert(To(dir / "in", dir / "no", DataFormat::kImages)).ok());
    fs::create_directories(dir / "floats");
    auto raw = RawTensorWriter::Create(dir / "floats/a.raw", DType::kFloat32, {2});
    REQUIRE(raw.ok());
    REQUIRE(raw.value().Write(Tensor(DType::kFloat32, {2}), 1).ok());
    CHECK(MustConvert(To(dir / "floats", dir / "floats2", DataFormat::kRaw)).images == 1);
    for (const DataFormat format : {DataFormat::kCsv, DataFormat::kTfRecord, DataFormat::kImages}) {
      const auto refused = Convert(To(dir / "floats", dir / "no", format));
      REQUIRE_FALSE(refused.ok());
      CHECK(refused.error().kind == ErrorKind::kUsage);
      CHECK(refused.error().what.find("not images") != std::string::npos);
    }
    CHECK_FALSE(fs::exists(dir / "no"));
    CHECK(ScratchFolders(dir.path()) == 0);
  }

  TEST_CASE("a stopped conversion continues, and gives the same set") {
    for (const DataFormat format : {DataFormat::kTfRecord, DataFormat::kImages, DataFormat::kRaw}) {
      CAPTURE(Name(format));
      ScratchDir dir;
      MakeSet(dir / "csv", DataFormat::kCsv, 60);
      const ConvertOptions options = To(dir / "csv", dir / "made/set", format);
      const auto stopped = Convert(options, StopAt(30));
      REQUIRE_FALSE(stopped.ok());
      CHECK(stopped.error().kind == ErrorKind::kRun);
      CHECK(stopped.error().hint.find("same command to continue") != std::string::npos);
      CHECK_FALSE(fs::exists(dir / "made/set"));
      CHECK(ScratchFolders(dir / "made") == 1);
      int64_t least = 60;
      MustConvert(options, [&](const ConvertProgress& at) {
        if (at.images > 0) least = std::min(least, at.done);
        return true;
      });
      CHECK(least > 20);  // the first shard is not written again
      CHECK(ScratchFolders(dir / "made") == 0);
      MustConvert(To(dir / "csv", dir / "whole", format));
      CHECK(FilesBelow(dir / "made/set") == FilesBelow(dir / "whole"));
    }
  }

  TEST_CASE("a killed conversion continues, too") {
    ScratchDir dir;
    MakeSet(dir / "csv", DataFormat::kCsv, 60);
    const ConvertOptions options = To(dir / "csv", dir / "set", DataFormat::kHdf5);
    const auto result = stallscope::test::RunInChild([&] {
      (void)Convert(options, [](const ConvertProgress& at) {
        if (at.images > 0 && at.done >= 30) raise(SIGKILL);
        return true;
      });
    });
    CHECK(result.signal == SIGKILL);
    CHECK(ScratchFolders(dir.path()) == 1);
    int64_t least = 60;
    MustConvert(options, [&](const ConvertProgress& at) {
      if (at.images > 0) least = std::min(least, at.done);
      return true;
    });
    CHECK(least > 20);
    MustConvert(To(dir / "csv", dir / "whole", DataFormat::kHdf5));
    CHECK(FilesBelow(dir / "set") == FilesBelow(dir / "whole"));
  }

  TEST_CASE("a stopped conversion is dropped if the source or the command differs") {
    ScratchDir dir;
    MakeSet(dir / "csv", DataFormat::kCsv, 60);
    REQUIRE_FALSE(Convert(To(dir / "csv", dir / "set", DataFormat::kRaw), StopAt(30)).ok());
    CHECK(ScratchFolders(dir.path()) == 1);
    int64_t least = 60;
    auto other = To(dir / "csv", dir / "set", DataFormat::kRaw);
    other.shards = 2;
    MustConvert(other, [&](const ConvertProgress& at) {
      if (at.images > 0) least = std::min(least, at.done);
      return true;
    });
    CHECK(least <= 20);
    CHECK(ScratchFolders(dir.path()) == 0);
    // The generator also takes the place.
    REQUIRE_FALSE(Convert(To(dir / "csv", dir / "next", DataFormat::kRaw), StopAt(30)).ok());
    MakeSet(dir / "next", DataFormat::kCsv);
    CHECK(ScratchFolders(dir.path()) == 0);
  }

  TEST_CASE("damage is reported with its place, and leaves nothing behind") {
    ScratchDir dir;
    MakeSet(dir / "csv", DataFormat::kCsv);
    const std::string shard = dir / "csv/data-00001-of-00003.csv";
    std::string text = ReadWholeFile(shard, 1 << 26).value();
    text[text.size() - 2] = 'x';
    REQUIRE(WriteFileAtomically(shard, text, stallscope::Over::kOwnInput).ok());
    const auto refused = Convert(To(dir / "csv", dir / "set", DataFormat::kTfRecord));
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().kind == ErrorKind::kRun);
    CHECK(refused.error().where.find("data-00001-of-00003.csv") != std::string::npos);
    CHECK_FALSE(fs::exists(dir / "set"));
    CHECK(ScratchFolders(dir.path()) == 0);
  }

  TEST_CASE("images of several sizes fit into files and records only") {
    ScratchDir dir;
    WriteImage(dir / "photos/cat/a.png", Gray(20, 30, 1));
    WriteImage(dir / "photos/dog/b.png", Gray(8, 8, 2));
    for (const DataFormat format : {DataFormat::kCsv, DataFormat::kHdf5, DataFormat::kRaw}) {
      const auto refused = Convert(To(dir / "photos", dir / "set", format));
      REQUIRE_FALSE(refused.ok());
      CHECK(refused.error().kind == ErrorKind::kUsage);
      CHECK(refused.error().what.find("differ in size") != std::string::npos);
    }
    CHECK_FALSE(fs::exists(dir / "set"));
  }

  TEST_CASE("never onto the source, nor into it, nor over what is not a data set") {
    ScratchDir dir;
    MakeSet(dir / "set", DataFormat::kTfRecord);
    const auto before = FilesBelow(dir / "set");
    fs::create_directory_symlink(dir / "set", dir / "link");
    for (const std::string& folder :
         {dir / "set", dir / "link", dir.path(), dir / "set/inner", dir / "link/inner"}) {
      CAPTURE(folder);
      const auto refused = Convert(To(dir / "set", folder, DataFormat::kRaw));
      REQUIRE_FALSE(refused.ok());
      CHECK(refused.error().kind == ErrorKind::kUsage);
    }
    CHECK(FilesBelow(dir / "set") == before);
    fs::create_directory(dir / "mine");
    REQUIRE(WriteFileAtomically(dir / "mine/thesis.txt", "years").ok());
    const auto refused = Convert(To(dir / "set", dir / "mine", DataFormat::kRaw));
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().what.find("thesis.txt") != std::string::npos);
    CHECK(ScratchFolders(dir.path()) == 0);
  }

  TEST_CASE("missing and mixed sources") {
    ScratchDir dir;
    const auto missing = Convert(To(dir / "nowhere", dir / "set", DataFormat::kRaw));
    REQUIRE_FALSE(missing.ok());
    CHECK(missing.error().kind == ErrorKind::kInput);
    MakeSet(dir / "csv", DataFormat::kCsv);
    MakeSet(dir / "records", DataFormat::kTfRecord);
    auto mixed = To(dir / "csv", dir / "set", DataFormat::kRaw);
    mixed.sources.push_back(dir / "records/*.tfrecord");
    const auto refused = Convert(mixed);
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().where.find(".tfrecord") != std::string::npos);
  }
}
