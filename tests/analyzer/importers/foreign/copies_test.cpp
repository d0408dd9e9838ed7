#include "analyzer/importers/foreign/copies.h"

#include <doctest/doctest.h>

using namespace stallscope;             // NOLINT(google-build-using-namespace)
using namespace stallscope::importers;  // NOLINT(google-build-using-namespace)
using trace::CopyDirection;
using trace::CopyMemory;

TEST_SUITE("fast") {
  TEST_CASE("every dialect's details give bytes and memory") {
    const CopyDetails old = ReadCopyDetails("size:112 dest:4 async:0");
    CHECK(old.bytes == 112);
    CHECK(MemoryOf(CopyDirection::kHostToDevice, old) == CopyMemory::kUnknown);

    const CopyDetails recent = ReadCopyDetails(
        "kind_src:pageable kind_dst:device size:18446744073709551615 dest:0 async:1");
    CHECK(recent.bytes == ~uint64_t{0});
    CHECK(MemoryOf(CopyDirection::kHostToDevice, recent) == CopyMemory::kPageable);
    CHECK(MemoryOf(CopyDirection::kDeviceToHost, recent) == CopyMemory::kUnknown);

    const CopyDetails rocm = ReadCopyDetails("kind:Pinned size:8 dest:0 async:1");
    CHECK(MemoryOf(CopyDirection::kDeviceToHost, rocm) == CopyMemory::kPinned);
    CHECK(MemoryOf(CopyDirection::kDeviceToDevice, rocm) == CopyMemory::kUnknown);
  }

  TEST_CASE("a copy's direction comes from its name, else from the memory kinds") {
    const CopyDetails none = ReadCopyDetails("");
    CHECK(DirectionOf("MemcpyH2D", none) == CopyDirection::kHostToDevice);
    CHECK(DirectionOf("MemcpyD2H", none) == CopyDirection::kDeviceToHost);
    CHECK(DirectionOf("MemcpyP2P", none) == CopyDirection::kDeviceToDevice);
    CHECK(DirectionOf("MemcpyOther", ReadCopyDetails("kind_src:pinned kind_dst:device")) ==
          CopyDirection::kHostToDevice);
    CHECK(DirectionOf("MemcpyOther", ReadCopyDetails("kind_src:device kind_dst:managed")) ==
          CopyDirection::kDeviceToHost);
    CHECK(DirectionOf("CopyHostToDevice", none) == CopyDirection::kHostToDevice);
    CHECK(DirectionOf("CopyDeviceToHost", none) == CopyDirection::kDeviceToHost);
    CHECK(DirectionOf("CopyDeviceToDevice", none) == CopyDirection::kDeviceToDevice);
    CHECK(DirectionOf("CopyDeviceToDevice", ReadCopyDetails("kind_src:managed kind_dst:device")) ==
          CopyDirection::kDeviceToDevice);
    CHECK(DirectionOf("MEMCPYDtoD", ReadCopyDetails("kind_src:managed kind_dst:device")) ==
          CopyDirection::kDeviceToDevice);
    CHECK(!DirectionOf("CopyToDeviceHelper", none).has_value());
    CHECK(!DirectionOf("MemsetD32", none).has_value());
    CHECK(!DirectionOf("__amd_rocclr_copyBuffer.kd", none).has_value());
  }

  TEST_CASE("malformed details do no harm") {
    for (const char* text :
         {"size:", "size:x", ":", "size", "  ", "size:99999999999999999999999"}) {
      CHECK(ReadCopyDetails(text).bytes == 0);
    }
  }
}
