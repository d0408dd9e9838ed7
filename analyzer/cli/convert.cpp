#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "analyzer/base/escape.h"
#include "analyzer/cli/interrupt.h"
#include "analyzer/cli/program.h"
#include "analyzer/cli/progress.h"
#include "collectors/data/convert_set.h"

namespace stallscope::cli {
namespace {

struct ConvertArguments {
  data::ConvertOptions options;
  std::string format;
};

int RunConvert(const ConvertArguments& arguments) {
  data::ConvertOptions options = arguments.options;
  options.format = *data::DataFormatNamed(arguments.format);
  const InterruptGuard guard;
  Result<data::Manifest> made = [&] {
    std::optional<ProgressBar> counting(std::in_place, "images counted", 0);
    std::optional<ProgressBar> progress;
    return data::Convert(options, [&](const data::ConvertProgress& at) {
      if (at.images == 0) {
        counting->Show(at.done);
      } else {
        counting.reset();
        if (!progress.has_value()) progress.emplace("images", at.images);
        progress->Show(at.done);
      }
      return !Interrupted();
    });
  }();
  if (!made.ok()) return Fail(made.error());
  uint64_t bytes = 0;
  for (const data::ManifestFile& file : made.value().files) bytes += file.bytes;
  std::printf("%s: %lld images of %d classes in %zu files, %llu bytes, fingerprint %s\n",
              Printable(options.folder).c_str(), static_cast<long long>(made.value().images),
              made.value().classes, made.value().files.size(),
              static_cast<unsigned long long>(bytes), made.value().fingerprint.c_str());
  return 0;
}

}  // namespace

void AddConvert(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ConvertArguments>();
  data::ConvertOptions& options = arguments->options;
  CLI::App* command = app.add_subcommand(
      "convert", "Convert a data set to another format, keeping its classes and every pixel");
  command
      ->add_option("SRC", options.sources,
                   "Files, patterns or folders: TFRecord, CSV, HDF5, raw tensors, or images in a "
                   "folder per class")
      ->required();
  command->add_option("-o,--output", options.folder, "Folder to write; created if missing")
      ->type_name("FOLDER")
      ->required();
  command->add_option("--format", arguments->format, "Data format")
      ->check(CLI::IsMember({"tfrecord", "raw", "images", "csv", "hdf5"}))
      ->required();
  command->add_option("--shards", options.shards,
                      "Number of files (by default one per 256 MiB, at least 4; ignored for "
                      "images: one file per image)");
  command->footer("After Ctrl-C, the same command continues where it stopped.");
  command->callback([arguments, &exit_code] { exit_code = RunConvert(*arguments); });
}

}  // namespace stallscope::cli
