#include "collectors/data/generate.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analyzer/base/file.h"
#include "analyzer/base/thread.h"
#include "collectors/data/csv_image.h"
#include "collectors/data/csv_reader.h"
#include "collectors/data/example.h"
#include "collectors/data/file_set.h"
#include "collectors/data/hdf5_images.h"
#include "collectors/data/jpeg.h"
#include "collectors/data/tfrecord.h"
#include "tests/support/child.h"
#include "tests/support/paths.h"

using stallscope::ErrorKind;
using stallscope::ReadWholeFile;
using stallscope::WriteFileAtomically;
using stallscope::data::AsBytes;
using stallscope::data::AsText;
using stallscope::data::DataFormat;
using stallscope::data::ExpandFiles;
using stallscope::data::Generate;
using stallscope::data::GenerateOptions;
using stallscope::data::JpegDecoder;
using stallscope::data::LabelOf;
using stallscope::data::Manifest;
using stallscope::data::ReadManifest;
using stallscope::data::Tensor;
using stallscope::test::ScratchDir;

namespace {

GenerateOptions Small(const std::string& folder, DataFormat format) {
  GenerateOptions options;
  options.folder = folder;
  options.format = format;
  options.images = 11;
  options.width = 40;
  options.height = 24;
  options.classes = 3;
  options.shards = 4;
  return options;
}

std::set<std::string> NamesIn(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

// Every file below the folder with its content.
std::map<std::string, std::string> ContentOf(const std::string& folder) {
  std::map<std::string, std::string> content;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = std::filesystem::relative(entry.path(), folder).string();
    content[name] = entry.is_directory() ? "" : ReadWholeFile(entry.path(), 1 << 26).value();
  }
  return content;
}

struct Decoded {
  int64_t label = 0;
  std::string pixels;
  bool operator==(const Decoded&) const = default;
};

Decoded FromJpeg(int64_t label, std::string_view jpeg) {
  JpegDecoder decoder;
  Tensor image;
  REQUIRE(decoder.Decode(AsBytes(jpeg), {}, image).ok());
  return {label, std::string(AsText(image.view()))};
}

std::vector<Decoded> ReadRecords(const std::vector<std::string>& files) {
  std::vector<Decoded> images;
  for (const std::string& file : files) {
    auto reader = stallscope::data::TfRecordReader::Open(file);
    REQUIRE(reader.ok());
    for (;;) {
      const auto record = reader.value().Next();
      REQUIRE(record.ok());
      if (!record.value().has_value()) break;
      stallscope::data::ExampleView view;
      REQUIRE(view.Reset(record.value()->payload).ok());
      CHECK(view.features().size() == 5);
      CHECK(OneInt64(*view.Find("image/height")).value() == 24);
      CHECK(OneInt64(*view.Find("image/width")).value() == 40);
      CHECK(AsText(OneBytes(*view.Find("image/format")).value()) == "JPEG");
      images.push_back(FromJpeg(OneInt64(*view.Find("image/class/label")).value(),
                                AsText(OneBytes(*view.Find("image/encoded")).value())));
    }
  }
  return images;
}

std::vector<Decoded> ReadCsv(const std::vector<std::string>& files) {
  std::vector<Decoded> images;
  for (const std::string& file : files) {
    auto reader = stallscope::data::CsvReader::Open(file);
    REQUIRE(reader.ok());
    CHECK(reader.value().header().at(0) == "label");
    for (;;) {
      const auto row = reader.value().Next();
      REQUIRE(row.ok());
      if (!row.value().has_value()) break;
      Tensor image;
      const int64_t label = stallscope::data::DecodeCsvImage(row.value()->text, image).value();
      images.push_back({label, std::string(AsText(image.view()))});
    }
  }
  return images;
}

std::vector<Decoded> ReadHdf5(const std::vector<std::string>& files) {
  std::vector<Decoded> images;
  for (const std::string& file : files) {
    auto reader = stallscope::data::Hdf5ImageReader::Open(file);
    REQUIRE(reader.ok());
    for (int64_t i = 0; i < reader.value().count(); ++i) {
      Tensor image;
      std::vector<int64_t> labels;
      REQUIRE(reader.value().Read(i, 1, image, labels).ok());
      images.push_back({labels[0], std::string(AsText(image.view()))});
    }
  }
  return images;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("every format holds the same images and labels") {
    ScratchDir dir;
    const auto made = [&](DataFormat format) {
      const std::string folder = dir / std::string(Name(format));
      REQUIRE(Generate(Small(folder, format)).ok());
      const std::vector<std::string> pattern = {folder + "/*"};
      return format == DataFormat::kImages ? std::vector<std::string>{}
                                           : ExpandFiles(pattern).value();
    };
    const auto records = ReadRecords(made(DataFormat::kTfRecord));
    REQUIRE(records.size() == 11);
    for (int i = 0; i < 11; ++i) CHECK(records[static_cast<size_t>(i)].label == LabelOf(1, i, 3));
    CHECK(ReadCsv(made(DataFormat::kCsv)) == records);
    CHECK(ReadHdf5(made(DataFormat::kHdf5)) == records);
    made(DataFormat::kImages);
    const auto folder =
        stallscope::data::ExpandImages(std::vector<std::string>{dir / "images"}).value();
    CHECK(folder.classes == std::vector<std::string>{"class_0000", "class_0001", "class_0002"});
    REQUIRE(folder.files.size() == 11);
    for (const auto& file : folder.files) {
      const size_t at = file.path.rfind("img_") + 4;
      const auto number = static_cast<size_t>(std::stoi(file.path.substr(at, 8)));
      CHECK(FromJpeg(file.label, ReadWholeFile(file.path, 1 << 20).value()) == records[number]);
    }
  }

  TEST_CASE("the same options give the same bytes, whatever the number of threads") {
    for (auto format :
         {DataFormat::kTfRecord, DataFormat::kImages, DataFormat::kCsv, DataFormat::kHdf5}) {
      ScratchDir dir;
      GenerateOptions options = Small(dir / "one", format);
      options.threads = 1;
      REQUIRE(Generate(options).ok());
      options.folder = dir / "five";
      options.threads = 5;
      REQUIRE(Generate(options).ok());
      CHECK(ContentOf(dir / "one") == ContentOf(dir / "five"));
      options.folder = dir / "other";
      options.seed = 2;
      REQUIRE(Generate(options).ok());
      CHECK(ContentOf(dir / "one") != ContentOf(dir / "other"));
    }
  }

  TEST_CASE("a generator without a thread says so, and one with fewer writes the same") {
    ScratchDir dir;
    GenerateOptions options = Small(dir / "whole", DataFormat::kTfRecord);
    options.threads = 4;
    const std::string whole = Generate(options).value().fingerprint;
    for (uint64_t n = 1; n <= 4; ++n) {
      const stallscope::ThreadStartFault fault(n);
      options.folder = dir / std::to_string(n);
      const auto written = Generate(options);
      CHECK(written.ok() == (n > 1));
      if (written.ok()) CHECK(written.value().fingerprint == whole);
      if (!written.ok()) {
        CHECK(written.error().kind == ErrorKind::kRun);
        CHECK(written.error().Line().find("ulimit -u") != std::string::npos);
        CHECK_FALSE(std::filesystem::exists(options.folder));
      }
    }
  }

  TEST_CASE("the manifest says what is there, and nothing else is") {
    ScratchDir dir;
    for (auto format : {DataFormat::kTfRecord, DataFormat::kImages}) {
      const std::string folder = dir / std::string(Name(format));
      const Manifest made = Generate(Small(folder, format)).value();
      const Manifest read = ReadManifest(folder).value();
      CHECK(read.fingerprint == made.fingerprint);
      CHECK(read.fingerprint.size() == 32);
      CHECK(read.format == format);
      CHECK(read.images == 11);
      CHECK(read.width == 40);
      CHECK(read.height == 24);
      CHECK(read.classes == 3);
      CHECK(read.seed == 1);
      CHECK(read.shards == (format == DataFormat::kImages ? 0 : 4));
      auto content = ContentOf(folder);
      content.erase("manifest.json");
      std::erase_if(content, [](const auto& entry) { return entry.second.empty(); });
      CHECK(content.size() == read.files.size());
      uint64_t records = 0;
      for (const auto& file : read.files) {
        CHECK(content[file.name].size() == file.bytes);
        CHECK(file.hash.size() == 32);
        records += file.records;
      }
      CHECK(records == 11);
    }
  }

  TEST_CASE("there are no more shards than images, and no fewer classes than asked for") {
    ScratchDir dir;
    GenerateOptions options = Small(dir / "few", DataFormat::kTfRecord);
    options.images = 2;
    options.shards = 8;
    CHECK(Generate(options).value().files.size() == 2);
    options = Small(dir / "images", DataFormat::kImages);
    options.images = 2;
    options.classes = 5;
    REQUIRE(Generate(options).ok());
    const auto folder =
        stallscope::data::ExpandImages(std::vector<std::string>{dir / "images"}).value();
    CHECK(folder.classes.size() == 5);
    CHECK(folder.files.size() == 2);
  }

  TEST_CASE("a folder with other content is refused and left alone") {
    ScratchDir dir;
    std::filesystem::create_directories(dir / "full/sub");
    REQUIRE(WriteFileAtomically(dir / "full/thesis.txt", "years of work").ok());
    const auto before = ContentOf(dir / "full");
    const auto refused = Generate(Small(dir / "full", DataFormat::kTfRecord));
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().kind == ErrorKind::kUsage);
    CHECK(refused.error().where == dir / "full");
    CHECK(ContentOf(dir / "full") == before);
    CHECK_FALSE(Generate(Small(dir / "full/thesis.txt", DataFormat::kTfRecord)).ok());
    // One file more than the data set's own is other content too.
    REQUIRE(Generate(Small(dir / "set", DataFormat::kTfRecord)).ok());
    REQUIRE(WriteFileAtomically(dir / "set/notes.txt", "mine").ok());
    const auto with_notes = ContentOf(dir / "set");
    const auto again = Generate(Small(dir / "set", DataFormat::kCsv));
    REQUIRE_FALSE(again.ok());
    CHECK(again.error().what == "the folder holds 'notes.txt', which is not part of a data set");
    CHECK(ContentOf(dir / "set") == with_notes);
  }

  TEST_CASE("an empty folder is taken, and a data set of ours replaced") {
    ScratchDir dir;
    std::filesystem::create_directories(dir / "set");
    for (auto format :
         {DataFormat::kImages, DataFormat::kHdf5, DataFormat::kTfRecord, DataFormat::kTfRecord}) {
      const auto made = Generate(Small(dir / "set", format));
      REQUIRE(made.ok());
      REQUIRE(Generate(Small(dir / "fresh", format)).ok());
      CHECK(ContentOf(dir / "set") == ContentOf(dir / "fresh"));
    }
  }

  TEST_CASE("progress counts every image, and a stop leaves nothing behind") {
    ScratchDir dir;
    int64_t last = 0;
    REQUIRE(Generate(Small(dir / "set", DataFormat::kCsv), [&](const auto& progress) {
              CHECK(progress.done == last + 1);
              CHECK(progress.images == 11);
              last = progress.done;
              return true;
            }).ok());
    CHECK(last == 11);
    for (auto format : {DataFormat::kTfRecord, DataFormat::kImages, DataFormat::kHdf5}) {
      const auto stopped = Generate(Small(dir / "a/b/stopped", format),
                                    [](const auto& progress) { return progress.done < 5; });
      REQUIRE_FALSE(stopped.ok());
      CHECK(stopped.error().kind == ErrorKind::kRun);
      CHECK_FALSE(std::filesystem::exists(dir / "a"));
    }
  }

  TEST_CASE("an interrupted set leaves files alone that others put beside it") {
    ScratchDir dir;
    const auto stopped = Generate(Small(dir / "data/train", DataFormat::kCsv), [&](const auto& at) {
      if (at.done == 3) {
        REQUIRE(Generate(Small(dir / "data/val", DataFormat::kCsv)).ok());
        REQUIRE(WriteFileAtomically(dir / "data/notes.txt", "mine").ok());
      }
      return at.done < 5;
    });
    REQUIRE_FALSE(stopped.ok());
    CHECK(ReadManifest(dir / "data/val").ok());
    CHECK(NamesIn(dir / "data") == std::set<std::string>{"notes.txt", "val"});
  }

  TEST_CASE("an older set stays until the new one is whole") {
    ScratchDir dir;
    for (auto format :
         {DataFormat::kTfRecord, DataFormat::kImages, DataFormat::kCsv, DataFormat::kHdf5}) {
      REQUIRE(Generate(Small(dir / "set", DataFormat::kImages)).ok());
      const auto before = ContentOf(dir / "set");
      GenerateOptions other = Small(dir / "set", format);
      other.seed = 2;
      CHECK_FALSE(Generate(other, [&](const auto& at) {
                    CHECK(ContentOf(dir / "set") == before);
                    return at.done < 11;
                  }).ok());
      CHECK(ContentOf(dir / "set") == before);
      CHECK(NamesIn(dir.path()) == std::set<std::string>{"set"});
      REQUIRE(Generate(other).ok());
      CHECK(ContentOf(dir / "set") != before);
      CHECK(NamesIn(dir.path()) == std::set<std::string>{"set"});
    }
  }

  TEST_CASE("what comes into the folder while the set is made is left alone") {
    ScratchDir dir;
    for (const bool exists : {false, true}) {
      const std::string folder = dir / (exists ? "old" : "new");
      if (exists) REQUIRE(Generate(Small(folder, DataFormat::kCsv)).ok());
      const auto refused = Generate(Small(folder, DataFormat::kTfRecord), [&](const auto& at) {
        if (at.done == 3) {
          std::filesystem::create_directory(folder);
          REQUIRE(WriteFileAtomically(folder + "/notes.txt", "mine").ok());
        }
        return true;
      });
      REQUIRE_FALSE(refused.ok());
      CHECK(refused.error().kind == ErrorKind::kUsage);
      CHECK(refused.error().where == folder);
      CHECK(ContentOf(folder)["notes.txt"] == "mine");
      CHECK(ReadManifest(folder).ok() == exists);
    }
    CHECK(NamesIn(dir.path()) == std::set<std::string>{"new", "old"});
  }

  TEST_CASE("a manifest does not make other people's files ours") {
    ScratchDir dir;
    const auto refused_with = [&](const std::string& name) {
      const std::string folder = dir / "set";
      std::filesystem::create_directory(folder);
      REQUIRE(stallscope::data::WriteManifest(folder, {.files = {{name, 5, 1, ""}}}).ok());
      const auto made = Generate(Small(folder, DataFormat::kCsv));
      return !made.ok() && made.error().kind == ErrorKind::kUsage;
    };
    REQUIRE(WriteFileAtomically(dir / "victim", "12345").ok());
    for (const std::string& name : {std::string("../victim"), dir / "victim",
                                    std::string("class_0000/../../victim"), std::string("/")}) {
      CAPTURE(name);
      CHECK_FALSE(refused_with(name));  // a folder with a manifest alone, and nothing else, is ours
      CHECK(ReadWholeFile(dir / "victim", 100).value() == "12345");
      std::filesystem::remove_all(dir / "set");
    }
    const std::string shard = "data-00000-of-00001.csv";
    std::filesystem::create_directory(dir / "set");
    std::filesystem::create_symlink(dir / "victim", dir / ("set/" + shard));
    CHECK(refused_with(shard));
    std::filesystem::remove_all(dir / "set");
    std::filesystem::create_directory(dir / "set");
    REQUIRE(WriteFileAtomically(dir / "set/thesis.txt", "12345").ok());
    CHECK(refused_with("thesis.txt"));
    std::filesystem::remove_all(dir / "set");
    std::filesystem::create_directory(dir / "set");
    REQUIRE(WriteFileAtomically(dir / ("set/" + shard), "of another size").ok());
    CHECK(refused_with(shard));
    REQUIRE(WriteFileAtomically(dir / ("set/" + shard), "12345").ok());
    CHECK_FALSE(refused_with(shard));
    CHECK(ReadWholeFile(dir / "victim", 100).value() == "12345");
  }

  TEST_CASE("after a kill the older set is there, and the next call removes the rest") {
    ScratchDir dir;
    REQUIRE(Generate(Small(dir / "set", DataFormat::kCsv)).ok());
    const auto before = ContentOf(dir / "set");
    std::filesystem::create_directory(dir / ".stallscope-mine");
    REQUIRE(WriteFileAtomically(dir / ".stallscope-mine/notes.txt", "mine").ok());
    const auto killed = stallscope::test::RunInChild([&] {
      (void)Generate(Small(dir / "set", DataFormat::kCsv), [](const auto& at) {
        if (at.done == 5) raise(SIGKILL);
        return true;
      });
    });
    CHECK(killed.signal == SIGKILL);
    CHECK(ContentOf(dir / "set") == before);
    CHECK(NamesIn(dir.path()).size() == 3);
    REQUIRE(Generate(Small(dir / "set", DataFormat::kTfRecord)).ok());
    CHECK(NamesIn(dir.path()) == std::set<std::string>{".stallscope-mine", "set"});
    CHECK(ContentOf(dir / ".stallscope-mine").size() == 1);
  }

  TEST_CASE("nobody else sees a set before it is whole, and then its folder has the usual mode") {
    ScratchDir dir;
    const mode_t mask = umask(022);
    const auto mode = [](const std::string& path) {
      struct stat about {};
      return stat(path.c_str(), &about) == 0 ? about.st_mode & 07777 : 0;
    };
    const auto see = [&](const auto&) {
      for (const std::string& name : NamesIn(dir.path())) {
        if (name.starts_with(".stallscope-")) CHECK(mode(dir / name) == 0700);
      }
      CHECK(NamesIn(dir.path()).size() == 1);
      return true;
    };
    REQUIRE(Generate(Small(dir / "set", DataFormat::kCsv), see).ok());
    CHECK(mode(dir / "set") == 0755);
    REQUIRE(chmod((dir / "set").c_str(), 0750) == 0);
    REQUIRE(Generate(Small(dir / "set", DataFormat::kTfRecord)).ok());
    CHECK(mode(dir / "set") == 0750);
    umask(mask);
  }

  TEST_CASE("a link to the folder stays a link, and the current folder stays itself") {
    ScratchDir dir;
    std::filesystem::create_directories(dir / "disk/set");
    std::filesystem::create_symlink("disk/set", dir / "link");
    REQUIRE(Generate(Small(dir / "link", DataFormat::kCsv)).ok());
    CHECK(std::filesystem::is_symlink(dir / "link"));
    CHECK(ReadManifest(dir / "disk/set").ok());
    std::filesystem::create_symlink("nowhere", dir / "dangling");
    CHECK_FALSE(Generate(Small(dir / "dangling", DataFormat::kCsv)).ok());

    const auto here = std::filesystem::current_path();
    REQUIRE(chdir((dir / "disk/set").c_str()) == 0);
    const auto stopped =
        Generate(Small(".", DataFormat::kImages), [](const auto& at) { return at.done < 5; });
    CHECK_FALSE(stopped.ok());
    CHECK(ReadManifest(".").value().format == DataFormat::kCsv);
    REQUIRE(Generate(Small(".", DataFormat::kImages)).ok());
    CHECK(ReadManifest(".").value().format == DataFormat::kImages);
    REQUIRE(WriteFileAtomically("notes.txt", "mine").ok());
    CHECK_FALSE(Generate(Small(".", DataFormat::kCsv)).ok());
    std::filesystem::remove("notes.txt");
    REQUIRE(chdir(here.c_str()) == 0);
    REQUIRE(Generate(Small(dir / "fresh", DataFormat::kImages)).ok());
    CHECK(ContentOf(dir / "disk/set") == ContentOf(dir / "fresh"));
    CHECK(NamesIn(dir / "disk") == std::set<std::string>{"set"});
  }

  TEST_CASE("texts are words with a class, of many lengths, and the same every time") {
    ScratchDir dir;
    GenerateOptions options = Small(dir / "set", DataFormat::kTfRecord);
    options.words = 16;
    options.images = 60;
    const auto made = Generate(options);
    REQUIRE(made.ok());
    CHECK(made.value().width == 0);
    CHECK(ReadManifest(dir / "set").value().images == 60);
    size_t shortest = 1000;
    size_t longest = 0;
    int64_t text = 0;
    for (const auto& file : made.value().files) {
      auto reader = stallscope::data::TfRecordReader::Open(dir / "set/" + file.name, {});
      REQUIRE(reader.ok());
      for (;;) {
        const auto record = reader.value().Next();
        REQUIRE(record.ok());
        if (!record.value().has_value()) break;
        const auto example = stallscope::data::ParseExample(record.value()->payload).value();
        const auto& words = std::get<stallscope::data::BytesList>(example.at("text")).at(0);
        const auto count = static_cast<size_t>(std::count(words.begin(), words.end(), ' ')) + 1;
        shortest = std::min(shortest, count);
        longest = std::max(longest, count);
        CHECK(std::get<stallscope::data::Int64List>(example.at("label")).at(0) ==
              LabelOf(options.seed, text++, options.classes));
      }
    }
    CHECK(text == 60);
    CHECK(shortest >= 4);
    CHECK(shortest < 8);
    CHECK(longest > 32);
    CHECK(longest <= 64);
    options.folder = dir / "again";
    options.threads = 3;
    CHECK(Generate(options).value().fingerprint == made.value().fingerprint);
  }

  TEST_CASE("invalid options are errors that name them") {
    ScratchDir dir;
    const auto error = [&](auto change) {
      GenerateOptions options = Small(dir / "set", DataFormat::kTfRecord);
      change(options);
      const auto made = Generate(options);
      CHECK(made.ok() == std::filesystem::exists(dir / "set"));
      return made.ok() ? "" : made.error().what;
    };
    CHECK(error([](auto& o) { o.images = 0; }) == "--images 0 is out of range");
    CHECK(error([](auto& o) { o.width = 0; }) == "--size 0x24 is out of range");
    CHECK(error([](auto& o) { o.width = o.height = 20'000; }) ==
          "--size 20000x20000 is out of range");
    CHECK(error([](auto& o) { o.classes = 0; }) == "--classes 0 is out of range");
    CHECK(error([](auto& o) { o.shards = 0; }) == "--shards 0 is out of range");
    CHECK(error([](auto& o) { o.quality = 101; }).find("quality 101") != std::string::npos);
    CHECK(error([](auto& o) { o.words = -1; }) == "--text -1 is out of range");
    CHECK(error([](auto& o) {
            o.words = 9;
            o.format = DataFormat::kCsv;
          }) == "--text cannot be written as csv");
    CHECK(error([](auto& o) { o.images = 1; }).empty());
  }
}
