#include "collectors/data/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "collectors/data/image.h"
#include "collectors/data/set_place.h"
#include "collectors/data/set_writer.h"

namespace stallscope::data {
namespace {

Error BadOption(std::string what, std::string hint) {
  return Error{ErrorKind::kUsage, std::move(what), "", std::move(hint)};
}

Status CheckOptions(const GenerateOptions& options) {
  if (options.images < 1 || options.images > 100'000'000) {
    return BadOption(fmt::format("--images {} is out of range", options.images),
                     "use 1 to 100000000");
  }
  const ImageLimits limits;
  if (options.width < 1 || options.height < 1 ||
      !CheckImageSize("the image", static_cast<uint32_t>(options.width),
                      static_cast<uint32_t>(options.height), limits)
           .ok()) {
    return BadOption(fmt::format("--size {}x{} is out of range", options.width, options.height),
                     "use a size such as 500x375, of at most 67 million pixels");
  }
  if (options.classes < 1 || options.classes > 100'000) {
    return BadOption(fmt::format("--classes {} is out of range", options.classes),
                     "use 1 to 100000");
  }
  if (options.shards < 1 || options.shards > 99'999) {
    return BadOption(fmt::format("--shards {} is out of range", options.shards), "use 1 to 99999");
  }
  if (options.quality < 1 || options.quality > 100) {
    return BadOption(fmt::format("JPEG quality {} is out of range", options.quality),
                     "use 1 to 100");
  }
  return {};
}

Result<Manifest> WriteAll(const GenerateOptions& options, const OnProgress& on_progress) {
  SampleRender render(options);
  const std::unique_ptr<SetWriter> writer = MakeSetWriter(options);
  Sample sample;
  for (int64_t image = 0; image < options.images; ++image) {
    STALLSCOPE_RETURN_IF_ERROR(render.Take(sample));
    STALLSCOPE_RETURN_IF_ERROR(writer->Write(image, sample));
    if (on_progress && !on_progress({image + 1, options.images})) {
      return Error{ErrorKind::kRun, "stopped; the partial data set is removed", options.folder, ""};
    }
  }
  Manifest manifest{options.format,
                    options.images,
                    options.width,
                    options.height,
                    options.classes,
                    options.seed,
                    options.shards,
                    options.quality,
                    "",
                    {}};
  STALLSCOPE_ASSIGN_OR_RETURN(manifest.files, writer->Finish());
  STALLSCOPE_RETURN_IF_ERROR(MeasureFiles(options.folder, manifest));
  STALLSCOPE_RETURN_IF_ERROR(WriteManifest(options.folder, manifest));
  return manifest;
}

}  // namespace

int LabelOf(uint64_t seed, int64_t image, int classes) {
  // A fixed stride through the classes, chosen per block, visits each class once: a shuffle without
  // a table.
  const auto count = static_cast<uint64_t>(classes);
  const auto block = static_cast<uint64_t>(image) / count;
  const auto place = static_cast<uint64_t>(image) % count;
  uint64_t mixed = (seed + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u + block;
  mixed = (mixed ^ (mixed >> 31)) * 0x94d049bb133111ebu;
  mixed ^= mixed >> 29;
  uint64_t stride = mixed % count;
  while (std::gcd(stride, count) != 1) stride = (stride + 1) % count;
  return static_cast<int>((place * stride + (mixed >> 32)) % count);
}

Result<Manifest> Generate(const GenerateOptions& given, const OnProgress& on_progress) {
  STALLSCOPE_RETURN_IF_ERROR(CheckOptions(given));
  GenerateOptions options = given;
  options.shards = options.format == DataFormat::kImages
                       ? 0
                       : static_cast<int>(std::min<int64_t>(options.shards, options.images));
  STALLSCOPE_ASSIGN_OR_RETURN(SetPlace place, SetPlace::Open(given.folder));
  options.folder = place.work();
  Result<Manifest> written = WriteAll(options, on_progress);
  if (!written.ok()) return place.Renamed(std::move(written).error());
  STALLSCOPE_RETURN_IF_ERROR(place.Publish());
  return written;
}

}  // namespace stallscope::data
