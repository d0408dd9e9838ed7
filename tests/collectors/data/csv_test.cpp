#include <doctest/doctest.h>
#include <zlib.h>

#include <string>
#include <vector>

#include "analyzer/base/file.h"
#include "collectors/data/csv_image.h"
#include "collectors/data/csv_reader.h"
#include "tests/support/paths.h"

using stallscope::WriteFileAtomically;
using stallscope::data::AppendCsvImage;
using stallscope::data::AsText;
using stallscope::data::Buffer;
using stallscope::data::CsvFields;
using stallscope::data::CsvImageHeader;
using stallscope::data::CsvReader;
using stallscope::data::DecodeCsvImage;
using stallscope::data::DType;
using stallscope::data::OpenMemorySource;
using stallscope::data::ReadOptions;
using stallscope::data::Shape;
using stallscope::data::Tensor;
using stallscope::test::ScratchDir;

namespace {

using Rows = std::vector<std::vector<std::string>>;

// Reads to the end; "!" and the error stands for a row that was none.
Rows ReadAll(const std::string& text, size_t block = 4096) {
  ReadOptions options;
  options.block_bytes = block;
  auto reader =
      CsvReader::Over(OpenMemorySource("m.csv", stallscope::data::AsBytes(text)), options);
  if (!reader.ok()) return {{"!", reader.error().Line()}};
  Rows rows;
  CsvFields fields;
  for (;;) {
    auto row = reader.value().Next();
    if (!row.ok()) {
      rows.push_back({"!", row.error().Line()});
      continue;
    }
    if (!row.value().has_value()) return rows;
    REQUIRE(fields.Split(row.value()->text).ok());
    CHECK(fields.size() == row.value()->fields);
    auto& into = rows.emplace_back();
    for (size_t i = 0; i < fields.size(); ++i) into.emplace_back(fields[i]);
  }
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("rows are read with any line break, and the last one needs none") {
    const Rows expected = {{"1", "2"}, {"3", "4"}};
    CHECK(ReadAll("1,2\n3,4\n") == expected);
    CHECK(ReadAll("1,2\r\n3,4\r\n") == expected);
    CHECK(ReadAll("1,2\n3,4") == expected);
    CHECK(ReadAll("1,2\r\n3,4\r") == expected);
    CHECK(ReadAll("\xef\xbb\xbf"
                  "1,2\n\n\r\n3,4\n\n") == expected);
    CHECK(ReadAll("").empty());
    CHECK(ReadAll("\n\n").empty());
  }

  TEST_CASE("a packed row of commas costs itself, and not the memory of its fields") {
    std::string text = "1,2\n" + std::string(4'000'000, ',') + "\n3,4\n";
    const auto deflated = [&text] {
      std::string packed(compressBound(text.size()), '\0');
      uLongf size = packed.size();
      REQUIRE(compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                        reinterpret_cast<const Bytef*>(text.data()), text.size(), 1) == Z_OK);
      packed.resize(size);
      return packed;
    };
    ReadOptions options;
    const std::string below = deflated();
    auto reader =
        CsvReader::Over(OpenMemorySource("m.csv", stallscope::data::AsBytes(below)), options);
    REQUIRE(reader.ok());
    CHECK(reader.value().Next().value()->text == "1,2");
    const auto row = reader.value().Next();
    REQUIRE_FALSE(row.ok());
    CHECK(row.error().what.find("4000001 fields") != std::string::npos);
    CHECK(row.error().where.find("line 2") != std::string::npos);
    CHECK(reader.value().Next().value()->text == "3,4");
    // As the first row it would be the header.
    text.erase(0, 4);
    const std::string first = deflated();
    CHECK_FALSE(
        CsvReader::Over(OpenMemorySource("m.csv", stallscope::data::AsBytes(first)), options).ok());
  }

  TEST_CASE("quotes hold commas, quotes and line breaks") {
    CHECK(
        ReadAll("1,\"a,b\"\n2,\"c\"\"d\"\n3,\"e\nf\r\ng\"\r\n4,\"\"\n5,\"\"\"\"\n\"6\",x\n") ==
        Rows{{"1", "a,b"}, {"2", "c\"d"}, {"3", "e\nf\r\ng"}, {"4", ""}, {"5", "\""}, {"6", "x"}});
    CHECK(ReadAll("1,\n,2\n,\n") == Rows{{"1", ""}, {"", "2"}, {"", ""}});
  }

  TEST_CASE("a first line of names is the header, one of numbers is a row") {
    auto reader =
        CsvReader::Over(OpenMemorySource("m", stallscope::data::AsBytes("label,\"p,0\"\n1,2\n")));
    REQUIRE(reader.ok());
    CHECK(reader.value().header() == std::vector<std::string>{"label", "p,0"});
    CHECK(reader.value().Next().value()->text == "1,2");
    CHECK(ReadAll("-1.5,2\n3,4\n") == Rows{{"-1.5", "2"}, {"3", "4"}});
  }

  TEST_CASE("rows know their line, offset and number, over line breaks in quotes") {
    const std::string text = "label,x\n1,\"a\nb\"\n\n2,c\n";
    auto reader = CsvReader::Over(OpenMemorySource("m", stallscope::data::AsBytes(text)));
    REQUIRE(reader.ok());
    auto first = reader.value().Next().value();
    CHECK(first->line == 2);
    CHECK(first->offset == 8);
    CHECK(first->index == 0);
    auto second = reader.value().Next().value();
    CHECK(second->line == 5);
    CHECK(second->offset == text.find("2,c"));
    CHECK(second->index == 1);
  }

  TEST_CASE("a ragged row is an error that names file, line and record, and the next is read") {
    CHECK(ReadAll("1,2\n3,4,5\n6,7\n") ==
          Rows{{"1", "2"},
               {"!",
                "m.csv, line 2, offset 4, record 1: the row has 3 fields, the first has 2; "
                "give every row the same number of fields"},
               {"6", "7"}});
    CHECK(ReadAll("a,b\n1\n2,3\n")[0][0] == "!");
    CHECK(ReadAll("a,b\n1,\n2,3\n")[0] == std::vector<std::string>{"1", ""});
  }

  TEST_CASE("a quote out of place costs its row, one that stays open the rest of the file") {
    const Rows misplaced = ReadAll("1,2\n3,a\"b\n4,\"c\"d\n5,\"e\"\rf\n6,7\n");
    REQUIRE(misplaced.size() == 5);
    for (size_t i : {size_t{1}, size_t{2}, size_t{3}}) {
      CHECK(misplaced[i][0] == "!");
      CHECK(misplaced[i][1].find("line " + std::to_string(i + 1)) != std::string::npos);
    }
    CHECK(misplaced[4] == std::vector<std::string>{"6", "7"});
    const Rows open = ReadAll("1,2\n3,\"a\n4,5\n");
    REQUIRE(open.size() == 2);
    CHECK(open[1][1].find("m.csv, line 2, offset 4, record 1: a quote is never closed") == 0);
  }

  TEST_CASE("rows across block boundaries are whole, quoted or not") {
    std::string text = "label,text\n";
    Rows expected;
    for (int i = 0; i < 300; ++i) {
      const std::string number = std::to_string(i);
      const std::string long_field(static_cast<size_t>(i * 37 % 5000), 'x');
      const bool quoted = i % 3 == 0;
      text += number + "," + (quoted ? "\"" + long_field + "\"\"\r\n\"" : long_field) + "\r\n";
      expected.push_back({number, quoted ? long_field + "\"\r\n" : long_field});
    }
    for (size_t block : {size_t{1}, size_t{4096}, size_t{12288}, size_t{1} << 20}) {
      CHECK(ReadAll(text, block) == expected);
    }
  }

  TEST_CASE("a packed file is unpacked, a missing one is an error") {
    ScratchDir dir;
    gzFile packed = gzopen((dir / "f.csv.gz").c_str(), "wb");
    gzputs(packed, "1,2\n3,4\n");
    gzclose(packed);
    auto reader = CsvReader::Open(dir / "f.csv.gz");
    REQUIRE(reader.ok());
    CHECK(reader.value().Next().value()->text == "1,2");
    CHECK_FALSE(CsvReader::Open(dir / "none.csv").ok());
    // Text may begin as zlib data does.
    CHECK(ReadAll("x^2,y^2\n1,2\n") == Rows{{"1", "2"}});
  }

  TEST_CASE("an image survives the round trip through a row") {
    Tensor image(DType::kUint8, {7, 11, 3});
    for (size_t i = 0; i < image.bytes(); ++i) image.data()[i] = static_cast<uint8_t>(i * 3);
    Buffer row;
    AppendCsvImage(42, image, row);
    std::string text(AsText(row));
    CHECK(text.starts_with("42,7,11,0,3,6,"));
    CHECK(text.ends_with("\n"));
    text.pop_back();
    Tensor back;
    CHECK(DecodeCsvImage(text, back).value() == 42);
    CHECK(back.shape() == image.shape());
    CHECK(AsText(back.view()) == AsText(image.view()));
    const std::string header = CsvImageHeader(7, 11);
    CHECK(std::count(header.begin(), header.end(), ',') ==
          std::count(text.begin(), text.end(), ','));
  }

  TEST_CASE("rows without a size are square images, gray or in color") {
    Tensor image;
    CHECK(DecodeCsvImage("5,1,2,3,4", image).value() == 5);
    CHECK(image.shape() == Shape{2, 2, 3});
    CHECK(AsText(image.view()) == "\x01\x01\x01\x02\x02\x02\x03\x03\x03\x04\x04\x04");
    CHECK(DecodeCsvImage("5,1,2,3,4,5,6,7,8,9,10,11,12", image).value() == 5);
    CHECK(image.shape() == Shape{2, 2, 3});
    CHECK(image.data()[11] == 12);
    CHECK(DecodeCsvImage("-1,255", image).value() == -1);
    CHECK(image.shape() == Shape{1, 1, 3});
  }

  TEST_CASE("a row that is not an image names the column") {
    Tensor image;
    const auto error = [&](const char* row) {
      const auto decoded = DecodeCsvImage(row, image);
      return decoded.ok() ? "" : decoded.error().what;
    };
    CHECK(error("x,1,2,3,4") == "column 1 is 'x', not a label");
    CHECK(error("5,1,256,3,4") == "column 3 is '256', not a pixel (0 to 255)");
    CHECK(error("5,1,-2,3,4") == "column 3 is '-2', not a pixel (0 to 255)");
    CHECK(error("5,1,2,3,") == "column 5 is '', not a pixel (0 to 255)");
    CHECK(error("5,1,2,3,4.5") == "column 5 is '4.5', not a pixel (0 to 255)");
    CHECK(error("5,1,2") == "a row of 3 columns is not an image");
    CHECK(error("5") == "a row of 1 columns is not an image");
    CHECK(error("5,1,1,7,8,9x") == "column 6 is '9x', not a pixel (0 to 255)");
    CHECK(error("5,1,1,7,8,9").empty());
  }
}
