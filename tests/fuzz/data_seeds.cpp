// Writes the initial corpus of the targets for collectors/data and collectors/pipeline:
//
//   build/dev/fuzz/data_seeds tests/fuzz/corpus
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "analyzer/base/file.h"
#include "collectors/data/csv_image.h"
#include "collectors/data/example.h"
#include "collectors/data/png.h"
#include "collectors/data/raw_tensors.h"
#include "collectors/data/tfrecord.h"
#include "collectors/pipeline/element_codec.h"
#include "tests/collectors/data/jpeg_samples.h"

namespace {

using namespace stallscope;
using test::EncodeSample;
using test::JpegColor;

void Put(const std::string& path, std::string_view content) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  if (!WriteFileAtomically(path, content).ok()) std::fprintf(stderr, "%s\n", path.c_str());
}

void Records(const std::string& folder) {
  std::filesystem::create_directories(folder);
  for (auto [name, compression] : {std::pair{"plain", data::Compression::kNone},
                                   {"gzip", data::Compression::kGzip},
                                   {"zlib", data::Compression::kZlib}}) {
    auto writer = data::TfRecordWriter::Create(folder + "/" + name, compression);
    for (const char* payload : {"", "one", "a record of some length"}) {
      static_cast<void>(writer.value().Write(data::AsBytes(payload)).ok());
    }
    static_cast<void>(writer.value().Finish().ok());
  }
  auto raw = data::RawTensorWriter::Create(folder + "/raw", data::DType::kUint8, {2, 3});
  static_cast<void>(raw.value().Write(test::SmoothPicture(1, 1), 0).ok());
  static_cast<void>(raw.value().Write(data::Tensor(data::DType::kUint8, {2, 3}), 7).ok());
}

void Examples(const std::string& folder) {
  data::Buffer bytes;
  const auto put = [&](const char* name, const data::Example& example) {
    static_cast<void>(SerializeExample(example, bytes).ok());
    Put(folder + "/" + name, data::AsText(bytes));
  };
  put("image", {{"image/encoded", data::BytesList{"bytes"}}, {"label", data::Int64List{3}}});
  put("kinds", {{"none", {}},
                {"floats", data::FloatList{0.5f, -1}},
                {"int64s", data::Int64List{0, -1, 300}},
                {"texts", data::BytesList{"", "a"}}});
  using namespace std::string_literals;
  Put(folder + "/merged",
      "\x0a\x0c\x0a\x0a\x0a\x01\x61\x12\x05\x0a\x03\x0a\x01\x31"
      "\x0a\x0c\x0a\x0a\x0a\x01\x61\x12\x05\x1a\x03\x0a\x01\x02"s);
}

void Rows(const std::string& folder) {
  Put(folder + "/plain", "label,x\r\n1,2\r\n\r\n3,4\r\n");
  Put(folder + "/quotes", "1,\"a,b\"\n2,\"c\"\"d\"\n3,\"e\nf\"\n4,\"\"\n5\n6,g\"h\n7,\"open\n");
  data::Buffer image;
  image.Append(data::AsBytes(data::CsvImageHeader(2, 3)));
  data::AppendCsvImage(5, test::SmoothPicture(3, 2), image);
  Put(folder + "/image", data::AsText(image));
  Put(folder + "/square", "5,0,255,17,4\n");
}

void Images(const std::string& folder) {
  Put(folder + "/baseline.jpg", EncodeSample({.width = 33, .height = 17, .quality = 50}));
  Put(folder + "/progressive.jpg",
      EncodeSample({.width = 24, .height = 17, .progressive = true, .quality = 50}));
  Put(folder + "/arithmetic.jpg",
      EncodeSample({.width = 16, .height = 16, .arithmetic = true, .quality = 50}));
  Put(folder + "/gray.jpg",
      EncodeSample({.width = 9, .height = 9, .color = JpegColor::kGray, .quality = 50}));
  Put(folder + "/cmyk.jpg",
      EncodeSample({.width = 9, .height = 9, .color = JpegColor::kYcck, .quality = 50}));
  Put(folder + "/restart.jpg", EncodeSample({.width = 20,
                                             .height = 40,
                                             .restart_rows = 1,
                                             .quality = 50,
                                             .exif = test::ExifWithOrientation(6, true)}));
  data::Buffer png;
  static_cast<void>(EncodePng(test::SmoothPicture(9, 7), png).ok());
  Put(folder + "/picture.png", data::AsText(png));
}

void Elements(const std::string& folder) {
  pipeline::Element element;
  element.value.Reset(data::DType::kUint8, {2, 3, 3});
  std::fill_n(element.value.data(), element.value.bytes(), uint8_t{7});
  data::Buffer bytes;
  EncodeElement(element, bytes);
  Put(folder + "/image", data::AsText(bytes));
  element.content = pipeline::Content::kRecord;
  element.value.Reset(data::DType::kUint8, {0});
  EncodeElement(element, bytes);
  Put(folder + "/empty", data::AsText(bytes));
  element.content = pipeline::Content::kTensor;
  element.value.Reset(data::DType::kFloat32, {2, 3});
  std::fill_n(element.value.data(), element.value.bytes(), uint8_t{0});
  element.one_hot.Reset(data::DType::kFloat32, {2, 4});
  std::fill_n(element.one_hot.data(), element.one_hot.bytes(), uint8_t{0});
  element.batch = std::make_unique<pipeline::BatchMembers>();
  element.batch->ids.resize(2);
  element.batch->labels = {1, 3};
  EncodeElement(element, bytes);
  Put(folder + "/batch", data::AsText(bytes));
  // A batch of two whose values are one number: refused.
  element.value.Reset(data::DType::kFloat32, data::Shape{});
  std::fill_n(element.value.data(), element.value.bytes(), uint8_t{0});
  EncodeElement(element, bytes);
  Put(folder + "/scalar_batch", data::AsText(bytes));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  Records(folder + "/tfrecord");
  Examples(folder + "/example");
  Rows(folder + "/csv");
  Images(folder + "/jpeg");
  Elements(folder + "/element");
}
