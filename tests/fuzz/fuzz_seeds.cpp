// Writes seeds for the fuzz targets of the rooms base and trace into <folder>/escape,
// <folder>/frame and <folder>/chunk.
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

// One per form, made of what the form's reader obeys.
int PutTexts(const std::string& folder) {
  int failed = 0;
  failed +=
      Put(folder + "/terminal", "\x1b]0;t\x07\x1b[2J\r\n\t\u009b \u202e \u2066 \xff\xed\xa0\x80");
  failed += Put(folder + "/markup", "]]> </script> <!-- --> <a b=\"c\" d='e'>&amp; \uffff");
  failed += Put(folder + "/markdown", "- ![a](b) a\\|`b`|@c #1 $x$ *d* _e_ https://f www.g ~h~");
  failed += Put(folder + "/json", "{\"a\\u0000\":\"\\ud83d\\udca9 \u2028 \xf0\x9f\x92\xa9\"}");
  failed += Put(folder + "/sarif", "/x/[a\\](javascript:alert(1))");
  failed += Put(folder + "/formula", "'=HYPERLINK(\"http://a\",\"b\")");
  failed += Put(folder + "/number", "-1,234.5e+6 GB/s");
  failed += Put(folder + "/plain", "decode (cpu) größe 数据 a=b");
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
    return 2;
  }
  const std::string folder = argv[1];
  std::filesystem::create_directories(folder + "/escape");
  std::filesystem::create_directories(folder + "/frame");
  std::filesystem::create_directories(folder + "/chunk");
  int failed = PutTexts(folder + "/escape");
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
