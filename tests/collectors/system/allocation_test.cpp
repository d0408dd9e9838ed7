// The program's own allocator, counted: a reading must not take part in the memory behavior of the
// program that it watches.
#include <doctest/doctest.h>

#include <cstdlib>
#include <new>

#include "collectors/system/gpus.h"
#include "collectors/system/kernel_sources.h"

namespace {
thread_local int allocations = 0;
}

void* operator new(size_t size) {
  ++allocations;
  if (void* const memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

using namespace stallscope;          // NOLINT(google-build-using-namespace)
using namespace stallscope::system;  // NOLINT(google-build-using-namespace)

namespace {

class NullSink : public CounterSink {
 public:
  CounterId Define(const std::string&, const std::string&) override { return CounterId{next_++}; }
  void Put(CounterId, double) override {}

 private:
  uint32_t next_ = 0;
};

int AllocationsOf(Source& source) {
  NullSink sink;
  for (int i = 0; i < 8; ++i) source.Read(sink, Effort::kBounded);
  const int before = allocations;
  for (int i = 0; i < 20; ++i) source.Read(sink, Effort::kBounded);
  return allocations - before;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("a source that has seen everything reads without allocating") {
    for (const std::string root : {"/", "/nowhere"}) {
      for (const auto& source : MakeKernelSources(root)) {
        // Opens its few files anew, once in five seconds: a group's limits may be anywhere above
        // it.
        if (source->name() == "limits") continue;
        CHECK_MESSAGE(AllocationsOf(*source) == 0, source->name() << " below " << root);
      }
    }
    CHECK(AllocationsOf(*MakeGpus(STALLSCOPE_FAKE_NVML_LIBRARY)) == 0);
  }
}
