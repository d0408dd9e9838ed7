// Writes seeds for the fuzz targets of the trace room into <folder>/frame and <folder>/chunk.
#include <cstdio>
#include <filesystem>
#include <string>

#include "analyzer/base/file.h"
#include "analyzer/trace/frame.h"
#include "tests/support/trace_samples.h"
#include "tests/support/wire_bytes.h"

using namespace stallscope;

namespace {

int Put(const std::string& path, const std::string& bytes) {
  return WriteFileAtomically(path, bytes).ok() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
    return 2;
  }
  const std::string folder = argv[1];
  std::filesystem::create_directories(folder + "/frame");
  std::filesystem::create_directories(folder + "/chunk");
  int failed = 0;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    test::Random random(seed);
    const std::string number = std::to_string(seed);
    failed += Put(folder + "/chunk/" + number, test::RandomPayload(random, seed * 4, seed % 3));
    failed += Put(folder + "/frame/" + number, test::RandomTraceBytes(seed, seed, 16 * seed));
  }
  const std::string small = trace::EncodeFileHeader({}) +
                            trace::EncodeFrame(trace::FrameType::kChunk, 0, 0, "") +
                            trace::EncodeFrame(trace::FrameType::kChunk, 1, 7,
                                               test::BytesField(9, test::NumberField(2, 1)));
  failed += Put(folder + "/frame/small", small);
  failed += Put(folder + "/frame/cut", small.substr(0, small.size() - 3));
  return failed;
}
