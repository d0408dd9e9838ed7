// The packed side of byte_source.h: inflates on a thread of its own, a few blocks ahead.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_GZIP_SOURCE_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_GZIP_SOURCE_H_

#include <cstdint>
#include <memory>

#include "analyzer/base/file.h"
#include "analyzer/importers/foreign/byte_source.h"

namespace stallscope::importers {

// An error where not one byte of it can be unpacked.
Result<std::unique_ptr<ByteSource>> OpenGzip(InputFile file, uint64_t size,
                                             const UnpackLimits& limits);

}  // namespace stallscope::importers

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_GZIP_SOURCE_H_
