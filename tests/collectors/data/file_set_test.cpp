#include "collectors/data/file_set.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "analyzer/base/file.h"
#include "tests/support/paths.h"

using stallscope::WriteFileAtomically;
using stallscope::data::ExpandFiles;
using stallscope::data::ExpandImages;
using stallscope::data::ImageFolder;
using stallscope::test::ScratchDir;

namespace {

void Touch(const std::string& path, const std::string& content = "x") {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  REQUIRE(WriteFileAtomically(path, content).ok());
}

// What the patterns give, below `dir`; "!" and the error where they give nothing.
std::vector<std::string> Expanded(const ScratchDir& dir, std::vector<std::string> patterns) {
  for (std::string& pattern : patterns) pattern = dir / pattern;
  auto files = ExpandFiles(patterns);
  if (!files.ok()) return {"!", files.error().what};
  for (std::string& file : files.value()) file = file.substr(dir.path().size() + 1);
  return files.value();
}

using Names = std::vector<std::string>;

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("patterns give files in byte order, without dot files") {
    ScratchDir dir;
    for (const char* name : {"b", "a", "B", "a10", "a2", "\xc3\xa4", ".hidden", ".a"}) {
      Touch(dir / name);
    }
    CHECK(Expanded(dir, {"*"}) == Names{"B", "a", "a10", "a2", "b", "\xc3\xa4"});
    CHECK(Expanded(dir, {"a*"}) == Names{"a", "a10", "a2"});
    CHECK(Expanded(dir, {"?"}) == Names{"B", "a", "b"});
    CHECK(Expanded(dir, {"[bB]"}) == Names{"B", "b"});
    CHECK(Expanded(dir, {"a?", "*"}) == Names{"a2", "B", "a", "a10", "b", "\xc3\xa4"});
    CHECK(Expanded(dir, {".h*"})[0] == "!");
    CHECK(Expanded(dir, {".hidden"}) == Names{".hidden"});
  }

  TEST_CASE("wildcards work in folders too, and skip dot files") {
    ScratchDir dir;
    for (const char* name : {"x/1.rec", "x/2.rec", "y/1.rec", ".git/1.rec", "z.rec"}) {
      Touch(dir / name);
    }
    CHECK(Expanded(dir, {"*/*.rec"}) == Names{"x/1.rec", "x/2.rec", "y/1.rec"});
    CHECK(Expanded(dir, {"*/1.rec"}) == Names{"x/1.rec", "y/1.rec"});
    CHECK(Expanded(dir, {"x/../y/*.rec"}) == Names{"x/../y/1.rec"});
    CHECK(Expanded(dir, {"z.rec/*"})[0] == "!");
  }

  TEST_CASE("a name with brackets in it is found as it is") {
    ScratchDir dir;
    Touch(dir / "a[1].rec");
    Touch(dir / "a1.rec");
    CHECK(Expanded(dir, {"a[1].rec"}) == Names{"a[1].rec"});
    CHECK(Expanded(dir, {"a[1]*"}) == Names{"a1.rec"});
  }

  TEST_CASE("a pattern without a match is an error that names it, and so is a folder") {
    ScratchDir dir;
    Touch(dir / "sub/a.rec");
    const std::string none = dir / "*.csv";
    const auto empty = ExpandFiles(std::vector<std::string>{dir / "sub/*", none});
    REQUIRE_FALSE(empty.ok());
    CHECK(empty.error().what == "no file matches");
    CHECK(empty.error().where == none);
    CHECK(Expanded(dir, {"sub"}) == Names{"!", "is a folder, not a file"});
    CHECK(Expanded(dir, {"*"}) == Names{"!", "is a folder, not a file"});
    CHECK(Expanded(dir, {"sub/*"}) == Names{"sub/a.rec"});
    CHECK_FALSE(ExpandFiles(std::vector<std::string>{}).ok());
  }

  TEST_CASE("the generator's manifest is skipped, another one is not") {
    ScratchDir dir;
    Touch(dir / "a.rec");
    Touch(dir / "manifest.json", "{\"schema\": \"stallscope.dataset/1\"}");
    CHECK(Expanded(dir, {"*"}) == Names{"a.rec"});
    CHECK(Expanded(dir, {"manifest.json"})[0] == "!");
    Touch(dir / "manifest.json", "{\"name\": \"my app\"}");
    CHECK(Expanded(dir, {"*"}) == Names{"a.rec", "manifest.json"});
  }

  TEST_CASE("an image's class is its folder's name, in the order of bytes") {
    ScratchDir dir;
    for (const char* name : {"data/dog/2.jpg", "data/dog/1.jpg", "data/cat/1.jpg", "data/Ant/1.jpg",
                             "data/cat/.thumbs", "data/.cache/1.jpg"}) {
      Touch(dir / name);
    }
    Touch(dir / "data/manifest.json", "{\"schema\": \"stallscope.dataset/1\"}");
    std::filesystem::create_directory(dir / "data/empty");
    for (const char* pattern : {"data", "data/", "data/*"}) {
      const auto images = ExpandImages(std::vector<std::string>{dir / pattern});
      REQUIRE(images.ok());
      const ImageFolder& folder = images.value();
      if (std::string(pattern) != "data/*") {
        CHECK(folder.classes == Names{"Ant", "cat", "dog", "empty"});
      }
      REQUIRE(folder.files.size() == 4);
      CHECK(folder.files[0].path == dir / "data/Ant/1.jpg");
      CHECK(folder.files[0].label == 0);
      CHECK(folder.files[1].label == 1);
      CHECK(folder.files[3].path == dir / "data/dog/2.jpg");
      CHECK(folder.files[3].label == 2);
    }
    const auto files = ExpandImages(std::vector<std::string>{dir / "data/[cd]*/*.jpg"});
    REQUIRE(files.ok());
    CHECK(files.value().classes == Names{"cat", "dog"});
    CHECK(files.value().files.size() == 3);
  }

  TEST_CASE("anything but one folder per class is an error, and so is an empty folder") {
    ScratchDir dir;
    std::filesystem::create_directories(dir / "nothing");
    const auto nothing = ExpandImages(std::vector<std::string>{dir / "nothing"});
    REQUIRE_FALSE(nothing.ok());
    CHECK(nothing.error().what == "contains no images");
    CHECK(nothing.error().where == dir / "nothing");
    Touch(dir / "data/cat/1.jpg");
    CHECK(ExpandImages(std::vector<std::string>{dir / "data"}).ok());
    Touch(dir / "data/stray.jpg");
    CHECK(ExpandImages(std::vector<std::string>{dir / "data"}).error().where ==
          dir / "data/stray.jpg");
    Touch(dir / "deep/cat/more/1.jpg");
    CHECK(ExpandImages(std::vector<std::string>{dir / "deep"}).error().what ==
          "a class folder contains a folder");
    CHECK(ExpandImages(std::vector<std::string>{dir / "none/*"}).error().what == "no file matches");
  }
}
