#include "analyzer/importers/foreign/launches.h"

#include <doctest/doctest.h>

using namespace stallscope;

namespace {

trace::Kernel Launched(uint64_t correlation, uint32_t track, uint64_t graph = 0) {
  trace::Kernel kernel;
  kernel.correlation = correlation;
  kernel.track = TrackId{track};
  kernel.graph = graph;
  return kernel;
}

}  // namespace

TEST_SUITE("fast") {
  TEST_CASE("kernels of one launch belong to a graph") {
    std::vector<trace::Kernel> kernels = {Launched(9, 0), Launched(5, 0), Launched(7, 0),
                                          Launched(5, 0), Launched(0, 0), Launched(0, 0),
                                          Launched(9, 0), Launched(9, 0)};
    importers::MarkGraphLaunches(kernels);
    const std::vector<uint64_t> graphs = {9, 5, 0, 5, 0, 0, 9, 9};
    for (size_t i = 0; i < kernels.size(); ++i) CHECK(kernels[i].graph == graphs[i]);
  }

  TEST_CASE("the same number on two processes' streams is not a graph") {
    std::vector<trace::Kernel> kernels = {Launched(5, 0), Launched(5, 1), Launched(6, 0)};
    importers::MarkGraphLaunches(kernels);
    for (const trace::Kernel& kernel : kernels) CHECK(kernel.graph == 0);
  }

  TEST_CASE("a file's own graph numbers take precedence") {
    std::vector<trace::Kernel> kernels = {Launched(5, 0), Launched(5, 0), Launched(6, 0, 3)};
    importers::MarkGraphLaunches(kernels);
    CHECK(kernels[0].graph == 0);
    CHECK(kernels[2].graph == 3);
  }
}
