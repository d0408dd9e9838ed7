#include "collectors/data/file_set.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <filesystem>
#include <string>

#include "analyzer/base/file.h"
#include "collectors/data/hdf5_images.h"
#include "collectors/data/png.h"
#include "collectors/data/raw_tensors.h"
#include "collectors/data/tfrecord.h"
#include "tests/collectors/data/jpeg_samples.h"
#include "tests/support/paths.h"

using stallscope::ReadWholeFile;
using stallscope::WriteFileAtomically;
using stallscope::data::AsBytes;
using stallscope::data::AsText;
using stallscope::data::Compression;
using stallscope::data::FileKind;
using stallscope::data::LookAt;
using stallscope::test::ScratchDir;

namespace {

void WriteRecords(const std::string& path, Compression compression) {
  auto writer = stallscope::data::TfRecordWriter::Create(path, compression);
  REQUIRE(writer.ok());
  for (int i = 0; i < 5; ++i) REQUIRE(writer.value().Write(AsBytes("record of some length")).ok());
  REQUIRE(writer.value().Finish().ok());
}

FileKind KindOfText(const std::string& path, const std::string& text) {
  REQUIRE(WriteFileAtomically(path, text).ok());
  return LookAt(path).value().kind;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("files are identified by their content") {
    ScratchDir dir;
    const std::string f = dir / "f.jpg";  // whatever the name says
    WriteRecords(f, Compression::kNone);
    CHECK(LookAt(f).value().kind == FileKind::kTfRecord);
    CHECK(KindOfText(f, stallscope::test::EncodeSample({})) == FileKind::kJpeg);
    stallscope::data::Buffer png;
    REQUIRE(EncodePng(stallscope::test::SmoothPicture(8, 8), png).ok());
    CHECK(KindOfText(f, std::string(AsText(png))) == FileKind::kPng);
    std::filesystem::remove(f);
    auto hdf5 = stallscope::data::Hdf5ImageWriter::Create(f, 0, 1, 1);
    REQUIRE(hdf5.ok());
    REQUIRE(hdf5.value().Finish().ok());
    CHECK(LookAt(f).value().kind == FileKind::kHdf5);
    REQUIRE(
        stallscope::data::RawTensorWriter::Create(f, stallscope::data::DType::kUint8, {2}).ok());
    CHECK(LookAt(f).value().kind == FileKind::kRawTensors);
    CHECK(KindOfText(f, "label,pixel\n1,2\n") == FileKind::kText);
    CHECK(KindOfText(f, "") == FileKind::kEmpty);
    CHECK(KindOfText(f, std::string("\x01\x02\x03\x04", 4)) == FileKind::kUnknown);
    CHECK(KindOfText(f, "{\"schema\": \"stallscope.dataset/1\"}") == FileKind::kManifest);
    CHECK(KindOfText(f, "{\"schema\": \"other/1\"}") == FileKind::kText);
    CHECK_FALSE(LookAt(dir / "none").ok());
  }

  TEST_CASE("packed files are identified by their unpacked content") {
    ScratchDir dir;
    for (auto compression : {Compression::kGzip, Compression::kZlib}) {
      WriteRecords(dir / "f", compression);
      CHECK(LookAt(dir / "f").value().kind == FileKind::kTfRecord);
      CHECK(LookAt(dir / "f").value().compression == compression);
    }
    gzFile packed = gzopen((dir / "f").c_str(), "wb");
    gzputs(packed, "label,pixel\n1,2\n");
    gzclose(packed);
    CHECK(LookAt(dir / "f").value().kind == FileKind::kText);
    CHECK(LookAt(dir / "f").value().compression == Compression::kGzip);
    // "x^" begins zlib data too.
    CHECK(KindOfText(dir / "f", "x^2,y^2\n1,2\n") == FileKind::kText);
    CHECK(LookAt(dir / "f").value().compression == Compression::kNone);
  }

  TEST_CASE("a file of another kind is an error that names both") {
    ScratchDir dir;
    REQUIRE(WriteFileAtomically(dir / "f", "label,pixel\n").ok());
    CHECK(ExpectKind(dir / "f", FileKind::kText).ok());
    const auto other = ExpectKind(dir / "f", FileKind::kTfRecord);
    REQUIRE_FALSE(other.ok());
    CHECK(other.error().what == "expected a TFRecord file, found text");
    CHECK(other.error().where == dir / "f");
    REQUIRE(WriteFileAtomically(dir / "e", "").ok());
    CHECK(ExpectKind(dir / "e", FileKind::kTfRecord).ok());
    CHECK_FALSE(ExpectKind(dir / "e", FileKind::kJpeg).ok());
  }
}
