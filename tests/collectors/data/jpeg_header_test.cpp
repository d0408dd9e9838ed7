#include "collectors/data/jpeg.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include "analyzer/base/file.h"
#include "tests/collectors/data/jpeg_samples.h"
#include "tests/support/paths.h"
#include "tests/support/skip.h"

using stallscope::ReadWholeFile;
using stallscope::data::AsBytes;
using stallscope::data::BlocksOf;
using stallscope::data::JpegHeader;
using stallscope::data::ReadJpegHeader;
using stallscope::test::EncodeSample;
using stallscope::test::JpegColor;
using stallscope::test::JpegSample;

TEST_SUITE("fast") {
  TEST_CASE("the header tells size and kind of what libjpeg writes") {
    JpegSample sample;
    sample.width = 301;
    sample.height = 77;
    JpegHeader header = ReadJpegHeader(AsBytes(EncodeSample(sample))).value();
    CHECK(header.width == 301);
    CHECK(header.height == 77);
    CHECK(header.components == 3);
    CHECK(header.precision == 8);
    CHECK(header.sof == 0);
    CHECK(header.h[0] == 2);
    CHECK(header.h[1] == 1);
    CHECK(header.orientation == 0);
    // 19 x 5 MCUs of 16 x 16; luma has 38 x 10 blocks.
    CHECK(BlocksOf(header) == 38 * 10 + 2 * 19 * 5);

    sample.progressive = true;
    CHECK(ReadJpegHeader(AsBytes(EncodeSample(sample))).value().progressive());
    sample.arithmetic = true;
    header = ReadJpegHeader(AsBytes(EncodeSample(sample))).value();
    CHECK(header.arithmetic());
    CHECK(header.progressive());
    sample.color = JpegColor::kCmykAdobe;
    CHECK(ReadJpegHeader(AsBytes(EncodeSample(sample))).value().components == 4);
  }

  TEST_CASE("EXIF's orientation is noticed in both byte orders, nonsense is not") {
    for (bool little : {false, true}) {
      for (int orientation = 0; orientation <= 9; ++orientation) {
        JpegSample sample;
        sample.exif = stallscope::test::ExifWithOrientation(orientation, little);
        const JpegHeader header = ReadJpegHeader(AsBytes(EncodeSample(sample))).value();
        CHECK(header.orientation == (orientation <= 8 ? orientation : 0));
        CHECK(header.turned() == (orientation >= 2 && orientation <= 8));
      }
    }
    JpegSample cut;
    const std::string whole = stallscope::test::ExifWithOrientation(6, true);
    for (size_t size = 0; size < whole.size() - 6; ++size) {
      cut.exif = whole.substr(0, size);
      CHECK(ReadJpegHeader(AsBytes(EncodeSample(cut))).value().orientation == 0);
    }
  }

  TEST_CASE("a header truncated anywhere is an error, and so is anything but a JPEG") {
    const std::string whole = EncodeSample({});
    size_t needed = 0;
    while (!ReadJpegHeader(AsBytes(whole.substr(0, needed))).ok()) ++needed;
    CHECK(needed > 20);
    CHECK(needed < whole.size() / 2);
    CHECK(ReadJpegHeader(AsBytes("label,pixel")).error().what == "not a JPEG");
    CHECK(ReadJpegHeader(AsBytes("\xff\xd8\xff\xd9")).error().what ==
          "the JPEG has no frame header");
  }

  TEST_CASE("real files have the sizes and kinds that an independent program read") {
    const auto corpus = stallscope::test::CorpusDir();
    if (!corpus.has_value()) return stallscope::test::Skip("STALLSCOPE_CORPUS is not set");
    std::ifstream manifest(*corpus + "/MANIFEST.tsv");
    const std::regex fact(R"(^(jpeg/\S+)\t.*\tSOF(\d+) (\d+)x(\d+)x(\d+) p(\d+) .*orient=(\w+))");
    int files = 0;
    for (std::string line; std::getline(manifest, line);) {
      std::smatch match;
      if (!std::regex_search(line, match, fact)) continue;
      const std::string bytes = ReadWholeFile(*corpus + "/" + match[1].str(), 1 << 24).value();
      const JpegHeader header = ReadJpegHeader(AsBytes(bytes)).value();
      CHECK(header.sof == std::stoi(match[2]));
      CHECK(header.width == static_cast<uint32_t>(std::stoi(match[3])));
      CHECK(header.height == static_cast<uint32_t>(std::stoi(match[4])));
      CHECK(header.components == std::stoi(match[5]));
      CHECK(header.precision == std::stoi(match[6]));
      CHECK(header.orientation == (match[7] == "None" ? 0 : std::stoi(match[7])));
      ++files;
    }
    CHECK(files >= 6);
  }
}
