// What the command line says.
#ifndef EXAMPLE_OPTIONS_H_
#define EXAMPLE_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace example {

struct Options {
  std::string output = "example.sst";
  bool record = true;
  bool help = false;
  double seconds = 3;
  uint64_t items = 0;  // that are read at most; 0 for no limit
  size_t block_bytes = size_t{64} << 10;
  size_t batch_size = 32;
  size_t workers = 2;
  std::vector<std::string> files;  // none: the reader makes text
};

extern const char* const kUsage;

// False with a reason in `error` where the arguments make no sense.
bool ParseOptions(int argc, char** argv, Options& options, std::string& error);

}  // namespace example

#endif  // EXAMPLE_OPTIONS_H_
