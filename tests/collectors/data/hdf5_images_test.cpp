#include "collectors/data/hdf5_images.h"

#include <doctest/doctest.h>
#include <hdf5.h>
#include <zlib.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "analyzer/base/file.h"
#include "tests/support/paths.h"

using stallscope::ReadWholeFile;
using stallscope::WriteFileAtomically;
using stallscope::data::AsText;
using stallscope::data::DType;
using stallscope::data::Hdf5ImageReader;
using stallscope::data::Hdf5ImageWriter;
using stallscope::data::Shape;
using stallscope::data::Tensor;
using stallscope::test::ScratchDir;

namespace {

Tensor ImageOf(int number) {
  Tensor image(DType::kUint8, {5, 7, 3});
  for (size_t i = 0; i < image.bytes(); ++i) {
    image.data()[i] = static_cast<uint8_t>(static_cast<size_t>(number) * 31 + i);
  }
  return image;
}

void WriteSample(const std::string& path, int count) {
  auto writer = Hdf5ImageWriter::Create(path, count, 5, 7);
  REQUIRE(writer.ok());
  for (int i = 0; i < count; ++i) REQUIRE(writer.value().Write(ImageOf(i), i % 3).ok());
  REQUIRE(writer.value().Finish().ok());
}

// A file with data sets of these types and dimensions, all zeros.
void WriteForeign(const std::string& path, hid_t image_type, std::vector<hsize_t> images,
                  hid_t label_type, std::vector<hsize_t> labels) {
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const auto add = [&](const char* name, hid_t type, const std::vector<hsize_t>& dims) {
    const hid_t space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
    const hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (type == H5T_STD_U8LE) {
      const std::vector<uint8_t> seven(100, 7);
      H5Dwrite(set, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, seven.data());
    }
    H5Dclose(set);
    H5Sclose(space);
  };
  add("images", image_type, images);
  add("labels", label_type, labels);
  H5Fclose(file);
}

std::string OpenError(const std::string& path) {
  const auto reader = Hdf5ImageReader::Open(path);
  return reader.ok() ? "" : reader.error().Line();
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("HDF5: ranges of images and labels are what was written") {
    ScratchDir dir;
    WriteSample(dir / "f.h5", 10);
    auto opened = Hdf5ImageReader::Open(dir / "f.h5");
    REQUIRE(opened.ok());
    Hdf5ImageReader& reader = opened.value();
    CHECK(reader.count() == 10);
    CHECK(reader.height() == 5);
    CHECK(reader.width() == 7);
    Tensor images;
    std::vector<int64_t> labels;
    for (int first = 0; first <= 10; ++first) {
      for (int count = 0; count <= 10 - first; ++count) {
        REQUIRE(reader.Read(first, count, images, labels).ok());
        CHECK(images.shape() == Shape{count, 5, 7, 3});
        for (int i = 0; i < count; ++i) {
          CHECK(labels[static_cast<size_t>(i)] == (first + i) % 3);
          CHECK(std::memcmp(images.data() + i * 105, ImageOf(first + i).data(), 105) == 0);
        }
      }
    }
    CHECK_FALSE(reader.Read(5, 6, images, labels).ok());
    CHECK_FALSE(reader.Read(-1, 2, images, labels).ok());
    CHECK_FALSE(reader.Read(11, 0, images, labels).ok());
  }

  TEST_CASE("HDF5: the same images give the same bytes") {
    ScratchDir dir;
    WriteSample(dir / "a", 4);
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // a time stamp would differ
    WriteSample(dir / "b", 4);
    CHECK(ReadWholeFile(dir / "a", 1 << 20).value() == ReadWholeFile(dir / "b", 1 << 20).value());
  }

  TEST_CASE("HDF5: gray images become RGB, labels of any integer type are read") {
    ScratchDir dir;
    for (const auto& dims : {std::vector<hsize_t>{2, 3, 4}, std::vector<hsize_t>{2, 3, 4, 1}}) {
      WriteForeign(dir / "f", H5T_STD_U8LE, dims, H5T_STD_I16BE, {2, 1});
      auto reader = Hdf5ImageReader::Open(dir / "f");
      REQUIRE(reader.ok());
      Tensor images;
      std::vector<int64_t> labels;
      REQUIRE(reader.value().Read(0, 2, images, labels).ok());
      CHECK(images.shape() == Shape{2, 3, 4, 3});
      CHECK(AsText(images.view()) == std::string(72, '\x07'));
      CHECK(labels == std::vector<int64_t>{0, 0});
    }
  }

  TEST_CASE("HDF5: a file without a set of images is an error that says why") {
    ScratchDir dir;
    CHECK(OpenError(dir / "none").find("cannot open the file: No such file") != std::string::npos);
    REQUIRE(WriteFileAtomically(dir / "text", "label,pixel\n").ok());
    CHECK(OpenError(dir / "text").find("cannot read the HDF5 file") != std::string::npos);
    WriteForeign(dir / "f", H5T_IEEE_F32LE, {2, 3, 4, 3}, H5T_STD_I64LE, {2});
    CHECK(OpenError(dir / "f").find("'images' is 2x3x4x3, not images") != std::string::npos);
    WriteForeign(dir / "f", H5T_STD_U8LE, {2, 3, 4, 2}, H5T_STD_I64LE, {2});
    CHECK(OpenError(dir / "f").find("not images") != std::string::npos);
    WriteForeign(dir / "f", H5T_STD_U8LE, {2, 3, 4, 3}, H5T_STD_I64LE, {3});
    CHECK(OpenError(dir / "f").find("'labels' does not have one integer for each of 2 images") !=
          std::string::npos);
    WriteForeign(dir / "f", H5T_STD_U8LE, {2, 3, 4, 3}, H5T_IEEE_F64LE, {2});
    CHECK(OpenError(dir / "f").find("'labels'") != std::string::npos);
    const auto named = Hdf5ImageReader::Open(dir / "f", {"pictures", "labels"});
    REQUIRE_FALSE(named.ok());
    CHECK(named.error().what.find("no data set 'pictures'") == 0);
    WriteForeign(dir / "f", H5T_STD_U8LE, {2, 3, 4, 3}, H5T_STD_I64LE, {2});
    CHECK(OpenError(dir / "f").empty());
  }

  TEST_CASE("HDF5: a truncated file is an error, not a crash") {
    ScratchDir dir;
    WriteSample(dir / "whole", 20);
    const std::string whole = ReadWholeFile(dir / "whole", 1 << 20).value();
    int opened = 0;
    for (size_t size = 0; size < whole.size(); size += 97) {
      REQUIRE(WriteFileAtomically(dir / "cut", whole.substr(0, size)).ok());
      auto reader = Hdf5ImageReader::Open(dir / "cut");
      if (!reader.ok()) continue;
      Tensor images;
      std::vector<int64_t> labels;
      CHECK_FALSE(reader.value().Read(0, 20, images, labels).ok());
      ++opened;
    }
    CHECK(opened == 0);
  }

  TEST_CASE("HDF5: an image of another shape, or one too many, is refused") {
    ScratchDir dir;
    auto writer = Hdf5ImageWriter::Create(dir / "f", 1, 5, 7);
    REQUIRE(writer.ok());
    CHECK_FALSE(writer.value().Write(Tensor(DType::kUint8, {5, 8, 3}), 0).ok());
    CHECK(writer.value().Write(ImageOf(0), 0).ok());
    CHECK_FALSE(writer.value().Write(ImageOf(1), 0).ok());
    CHECK_FALSE(Hdf5ImageWriter::Create(dir / "no/such/f", 1, 5, 7).ok());
  }

  TEST_CASE("HDF5: an existing file is not overwritten") {
    ScratchDir dir;
    REQUIRE(WriteFileAtomically(dir / "thesis", "years of work").ok());
    CHECK_FALSE(Hdf5ImageWriter::Create(dir / "thesis", 1, 5, 7).ok());
    CHECK(stallscope::ReadWholeFile(dir / "thesis", 100).value() == "years of work");
    CHECK(Hdf5ImageWriter::Create(dir / "new", 1, 5, 7).ok());
  }

  TEST_CASE("HDF5: readers in several threads each get their own images") {
    ScratchDir dir;
    WriteSample(dir / "f", 50);
    std::vector<std::thread> threads;
    std::vector<int> good(4, 0);
    for (size_t t = 0; t < good.size(); ++t) {
      threads.emplace_back([&, t] {
        auto reader = Hdf5ImageReader::Open(dir / "f");
        Tensor images;
        std::vector<int64_t> labels;
        for (int i = 0; reader.ok() && i < 50; ++i) {
          if (!reader.value().Read(i, 1, images, labels).ok()) continue;
          good[t] += std::memcmp(images.data(), ImageOf(i).data(), 105) == 0;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(good == std::vector<int>(4, 50));
  }

  TEST_CASE("HDF5: a chunk that unpacks to far more than it says is refused") {
    ScratchDir dir;
    // One chunk of an image each, of which the second unpacks to `bytes`, all zeros.
    const auto read = [&](size_t bytes) {
      const std::string path = dir / std::to_string(bytes);
      const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
      const hsize_t dims[4] = {2, 100, 100, 3};
      const hsize_t chunk[4] = {1, 100, 100, 3};
      const hsize_t second[4] = {1, 0, 0, 0};
      const hid_t made = H5Pcreate(H5P_DATASET_CREATE);
      H5Pset_chunk(made, 4, chunk);
      H5Pset_shuffle(made);
      H5Pset_deflate(made, 1);
      const hid_t space = H5Screate_simple(4, dims, nullptr);
      const hid_t one = H5Screate_simple(1, dims, nullptr);
      const hid_t images =
          H5Dcreate2(file, "images", H5T_STD_U8LE, space, H5P_DEFAULT, made, H5P_DEFAULT);
      const std::vector<uint8_t> zeros(bytes);
      std::vector<uint8_t> packed(compressBound(bytes));
      uLongf size = packed.size();
      REQUIRE(compress2(packed.data(), &size, zeros.data(), bytes, 1) == Z_OK);
      REQUIRE(H5Dwrite_chunk(images, H5P_DEFAULT, 0, second, size, packed.data()) >= 0);
      H5Dclose(images);
      H5Dclose(
          H5Dcreate2(file, "labels", H5T_STD_I64LE, one, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
      H5Sclose(space);
      H5Sclose(one);
      H5Pclose(made);
      H5Fclose(file);
      auto reader = Hdf5ImageReader::Open(path);
      REQUIRE_MESSAGE(reader.ok(), reader.error().Line());
      Tensor images_read;
      std::vector<int64_t> labels;
      CHECK(reader.value().Read(0, 1, images_read, labels).ok());
      const auto done = reader.value().Read(0, 2, images_read, labels);
      CHECK(done.ok() == reader.value().Read(1, 1, images_read, labels).ok());
      return done.ok() ? "" : done.error().Line();
    };
    CHECK(read(30'000).empty());
    const std::string error = read(100'000'000);
    CHECK(error.find("unpacks to far more than the file's size") != std::string::npos);
    CHECK(error.find("records 0 to 1") != std::string::npos);
  }

  TEST_CASE("HDF5: chunks that would unpack to gigabytes are refused") {
    ScratchDir dir;
    const auto write = [&](hsize_t images_each, int deflates) {
      const hid_t file = H5Fcreate((dir / "f").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
      const hsize_t dims[4] = {8'000, 100, 100, 3};
      const hsize_t chunk[4] = {images_each, 100, 100, 3};
      const hid_t made = H5Pcreate(H5P_DATASET_CREATE);
      H5Pset_chunk(made, 4, chunk);
      for (int i = 0; i < deflates; ++i) H5Pset_deflate(made, 1);
      const hid_t space = H5Screate_simple(4, dims, nullptr);
      const hid_t one = H5Screate_simple(1, dims, nullptr);
      H5Dclose(H5Dcreate2(file, "images", H5T_STD_U8LE, space, H5P_DEFAULT, made, H5P_DEFAULT));
      H5Dclose(
          H5Dcreate2(file, "labels", H5T_STD_I64LE, one, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
      H5Sclose(space);
      H5Sclose(one);
      H5Pclose(made);
      H5Fclose(file);
      return OpenError(dir / "f");
    };
    CHECK(write(2'000, 1).find("chunk") == std::string::npos);  // 60 MB
    CHECK(write(8'000, 1).find("chunk") != std::string::npos);
    CHECK(write(1, 2).find("chunk") != std::string::npos);
    CHECK(write(1, 1).find("chunk") == std::string::npos);
  }
}
