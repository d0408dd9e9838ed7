// The files that a source names.
//
// Patterns take *, ? and [...] in any part of a path. Each pattern's files come in the order of
// their bytes, the patterns in the order given, a file named twice once, where it stands first.
// A wildcard never matches a name that begins with a dot. The generator's own manifest.json is
// passed over. What exists under the pattern's own name is meant literally. Any thread.
#ifndef STALLSCOPE_COLLECTORS_DATA_FILE_SET_H_
#define STALLSCOPE_COLLECTORS_DATA_FILE_SET_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analyzer/base/result.h"

namespace stallscope::data {

// A pattern that gives nothing is an error that names it, and a folder is one too.
Result<std::vector<std::string>> ExpandFiles(std::span<const std::string> patterns);

struct ImageFile {
  std::string path;
  int64_t label = 0;  // an index of classes
};

struct ImageFolder {
  std::vector<std::string> classes;  // in the order of their bytes
  std::vector<ImageFile> files;
};

// The images that patterns name: files, folders of files (a class each), or folders of such
// folders. An image's class is the name of the folder that it lies in. A class without an image is
// a class all the same; no image at all is an error.
Result<ImageFolder> ExpandImages(std::span<const std::string> patterns);

}  // namespace stallscope::data

#endif  // STALLSCOPE_COLLECTORS_DATA_FILE_SET_H_
