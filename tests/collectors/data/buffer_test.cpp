#include "collectors/data/buffer.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>

using stallscope::data::AsBytes;
using stallscope::data::AsText;
using stallscope::data::Buffer;

TEST_SUITE("fast") {
  TEST_CASE("every buffer begins on a 64-byte boundary, whatever its size") {
    for (size_t size : {size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{150'528},
                        size_t{1} << 20, (size_t{1} << 20) + 1}) {
      Buffer buffer(size);
      CHECK(reinterpret_cast<uintptr_t>(buffer.data()) % Buffer::kAlignment == 0);
      buffer.Resize(size * 3);
      CHECK(reinterpret_cast<uintptr_t>(buffer.data()) % Buffer::kAlignment == 0);
    }
  }

  TEST_CASE("growing keeps the content, shrinking the memory") {
    Buffer buffer;
    buffer.Append(AsBytes("hello "));
    for (int i = 0; i < 100; ++i) buffer.Append(AsBytes("world"));
    CHECK(AsText(buffer).substr(0, 16) == "hello worldworld");
    CHECK(buffer.size() == 506);
    const size_t capacity = buffer.capacity();
    buffer.Resize(5);
    CHECK(buffer.capacity() == capacity);
    CHECK(AsText(buffer) == "hello");
  }

  TEST_CASE("a buffer can append a part of itself") {
    Buffer buffer;
    buffer.Append(AsBytes(std::string(64, 'a')));
    CHECK(buffer.capacity() == 64);
    buffer.Append(buffer.view());
    CHECK(AsText(buffer) == std::string(128, 'a'));
  }

  TEST_CASE("out of memory is reported, and the content stays") {
    Buffer buffer;
    buffer.Append(AsBytes("kept"));
    CHECK_FALSE(buffer.TryResize(SIZE_MAX));
    CHECK_FALSE(buffer.TryReserve(SIZE_MAX / 2));
    CHECK(AsText(buffer) == "kept");
    CHECK(buffer.TryResize(1000));
    CHECK(AsText(buffer).substr(0, 4) == "kept");
  }

  TEST_CASE("copies are their own, moves take the memory along") {
    Buffer a;
    a.Append(AsBytes("abc"));
    Buffer b = a;
    b.data()[0] = 'x';
    CHECK(AsText(a) == "abc");
    const uint8_t* before = b.data();
    Buffer c = std::move(b);
    CHECK(c.data() == before);
    a = c;
    CHECK(AsText(a) == "xbc");
  }
}
