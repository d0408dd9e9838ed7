// Files of some KB that would take gigabytes, and how far they are read.
#include <doctest/doctest.h>
#include <zlib.h>

#include <string>

#include "analyzer/base/amplification.h"
#include "analyzer/importers/open_run.h"
#include "tests/support/child.h"
#include "tests/support/made_space.h"
#include "tests/support/memory_file.h"

using namespace stallscope;
using importers::OpenRun;

namespace {

// gzip of `begin`, `times` times `again`, and `end`.
std::string Packed(const std::string& begin, const std::string& again, size_t times,
                   const std::string& end) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed;
  const auto put = [&](const std::string& text, int flush) {
    char block[65536];
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    do {
      stream.next_out = reinterpret_cast<Bytef*>(block);
      stream.avail_out = sizeof block;
      deflate(&stream, flush);
      packed.append(block, sizeof block - stream.avail_out);
    } while (stream.avail_out == 0);
  };
  put(begin, Z_NO_FLUSH);
  for (size_t i = 0; i < times; ++i) put(again, Z_NO_FLUSH);
  put(end, Z_FINISH);
  deflateEnd(&stream);
  return packed;
}

std::string Repeated(const std::string& text, size_t times) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

// It is refused, in one line that says why, and has not taken much more than it may.
void CheckRefused(const std::string& bytes) {
  const test::MemoryFile file(bytes);
  const auto run = [&] {
    const auto read = OpenRun(file.path());
    REQUIRE_FALSE(read.ok());
    CHECK(read.error().kind == ErrorKind::kInput);
    CHECK(read.error().Line().find("MiB of memory") != std::string::npos);
    CHECK(read.error().Line().find('\n') == std::string::npos);
  };
  if (!test::MemoryIsMeasurable()) return run();
  const test::ChildResult child = test::RunInChild([&] { (void)OpenRun(file.path()).ok(); });
  CHECK(child.done);
  // What is charged is a rough figure, and vectors double.
  CHECK(static_cast<uint64_t>(child.grown_bytes) < 2 * MostMemoryFor(bytes.size()));
  run();
}

constexpr size_t kMany = 1'000;

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("packed events without end are refused") {
    const std::string events = Repeated(R"({"ph":"X","ts":1,"dur":1},)", 4'000);
    CheckRefused(Packed("[", events, kMany, R"({"ph":"X","ts":1}])"));
  }

  TEST_CASE("packed events of two bytes are refused") {
    const size_t events = 40'000'000;
    const std::string head = test::NumberField(1, 1) + test::BytesField(2, "line");
    const std::string line = test::Varint(3 << 3 | 2) + test::Varint(head.size() + 2 * events);
    const std::string name = test::BytesField(2, "/host:CPU");
    const std::string plane = test::Varint(1 << 3 | 2) +
                              test::Varint(name.size() + line.size() + head.size() + 2 * events);
    CheckRefused(Packed(plane + name + line + head,
                        Repeated(std::string("\x22\x00", 2), events / kMany), kMany, ""));
  }

  TEST_CASE("a packed list of devices without end is refused") {
    CheckRefused(Packed(R"({"deviceProperties":[1)", Repeated(",1", 7'900), kMany,
                        R"(],"traceEvents":[{"ph":"X","ts":1,"dur":1}]})"));
  }

  TEST_CASE("names that no event uses are refused") {
    CheckRefused(test::BytesField(
        1, test::BytesField(2, "/host:CPU") + Repeated(std::string("\x22\x00", 2), 2'000'000)));
  }

  TEST_CASE("long names are cut, and a list of devices that is too long is left out") {
    const test::MemoryFile names(
        Packed(R"([{"ph":"X","ts":1,"dur":1,"name":")", std::string(8'000, 'x'), kMany,
               R"("},{"ph":"B","ts":1,"pid":")" + std::string(8'000, 'p') + R"("}])"));
    const auto cut = OpenRun(names.path());
    REQUIRE(cut.ok());
    CHECK(model::CountSpans(cut.value()) == 2);
    REQUIRE_FALSE(cut.value().info.limits.empty());
    CHECK(cut.value().info.limits.front().find("4,096 bytes") != std::string::npos);
    CHECK(cut.value().quality.Complete());  // nothing but the end of a name is missing
    const test::MemoryFile devices(R"({"deviceProperties":[)" + Repeated("1,", 1 << 19) +
                                   R"(1],"traceEvents":[{"ph":"X","ts":1,"dur":1}]})");
    const auto without = OpenRun(devices.path());
    REQUIRE(without.ok());
    CHECK_FALSE(without.value().quality.Complete());
  }

  TEST_CASE("a real trace that packs well is read completely") {
    std::string events;
    for (int i = 0; i < 100'000; ++i) {
      events += R"({"ph":"X","cat":"cpu_op","name":"aten::op)" + std::to_string(i % 300) +
                R"(","pid":7,"tid":8,"ts":)" + std::to_string(1'700'000'000 + 13 * i) +
                R"(.25,"dur":)" + std::to_string(i * 7919 % 1000) + R"(,"args":{"External id":)" +
                std::to_string(i) + "}},\n";
    }
    const test::MemoryFile file(Packed("[", events, 1, R"({"ph":"X","ts":1,"dur":1}])"));
    const auto run = OpenRun(file.path());
    REQUIRE(run.ok());
    CHECK(model::CountSpans(run.value()) == 100'001);
    CHECK(run.value().quality.Complete());
  }
}
