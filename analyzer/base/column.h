// A vector for millions of plain values: it does not zero memory that is about to be decoded into,
// and requests huge pages once it is large, because touching a fresh 4 KiB page costs more than
// decoding its contents. Otherwise a std::vector.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace stallscope {

template <class T>
struct ColumnAllocator {
  static_assert(std::is_trivially_copyable_v<T>);
  using value_type = T;
  static constexpr size_t kHugePage = size_t{2} << 20;

  ColumnAllocator() = default;
  template <class U>
  ColumnAllocator(const ColumnAllocator<U>&) {}  // NOLINT(google-explicit-constructor)

  T* allocate(size_t count) {
    if (count > static_cast<size_t>(-1) / sizeof(T)) throw std::bad_alloc();
    const size_t bytes = count * sizeof(T);
    // Small columns stay with malloc; page-sized ones begin on a huge page, which madvise needs.
    void* memory =
        bytes < kHugePage ? std::malloc(bytes) : std::aligned_alloc(kHugePage, RoundUp(bytes));
    if (memory == nullptr) throw std::bad_alloc();
    if (bytes >= kHugePage) madvise(memory, RoundUp(bytes), MADV_HUGEPAGE);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t) noexcept { std::free(memory); }

  // resize() leaves new values uninitialized; the caller writes them.
  template <class U>
  void construct(U* at) noexcept {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... Args>
  void construct(U* at, Args&&... args) {
    ::new (static_cast<void*>(at)) U(std::forward<Args>(args)...);
  }

  bool operator==(const ColumnAllocator&) const { return true; }

 private:
  static size_t RoundUp(size_t bytes) { return (bytes + kHugePage - 1) / kHugePage * kHugePage; }
};

template <class T>
using Column = std::vector<T, ColumnAllocator<T>>;

}  // namespace stallscope
