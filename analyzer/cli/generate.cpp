#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "analyzer/base/escape.h"
#include "analyzer/cli/interrupt.h"
#include "analyzer/cli/program.h"
#include "analyzer/cli/progress.h"
#include "collectors/data/generate.h"

namespace stallscope::cli {
namespace {

struct GenerateArguments {
  data::GenerateOptions options;
  std::string format = "tfrecord";
  std::string size = "500x375";
};

// "500x375".
bool ParseSize(std::string_view text, int& width, int& height) {
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, width);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != 'x') return false;
  const auto second = std::from_chars(first.ptr + 1, end, height);
  return second.ec == std::errc() && second.ptr == end;
}

int RunGenerate(const GenerateArguments& arguments) {
  data::GenerateOptions options = arguments.options;
  options.format = data::DataFormatNamed(arguments.format).value_or(data::DataFormat::kTfRecord);
  if (!ParseSize(arguments.size, options.width, options.height)) {
    return Fail({ErrorKind::kUsage, "--size '" + arguments.size + "' is not a size", "",
                 "write WIDTHxHEIGHT, as in 500x375"});
  }
  const InterruptGuard guard;
  Result<data::Manifest> made = [&] {
    ProgressBar progress(options.words > 0 ? "texts" : "images", options.images);
    return data::Generate(options, [&](const data::GenerateProgress& at) {
      progress.Show(at.done);
      return !Interrupted();
    });
  }();
  if (!made.ok()) return Fail(made.error());
  const char* const what = options.words > 0 ? "texts" : "images";
  uint64_t bytes = 0;
  for (const data::ManifestFile& file : made.value().files) bytes += file.bytes;
  std::printf("%s: %lld %s of %d classes in %zu files, %llu bytes, fingerprint %s\n",
              Printable(options.folder).c_str(), static_cast<long long>(options.images), what,
              options.classes, made.value().files.size(), static_cast<unsigned long long>(bytes),
              made.value().fingerprint.c_str());
  return 0;
}

}  // namespace

void AddGenerate(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<GenerateArguments>();
  data::GenerateOptions& options = arguments->options;
  CLI::App* command = app.add_subcommand(
      "generate", "Generate a data set of painted images that a model can learn to classify");
  command->add_option("DIR", options.folder, "Folder to write; created if missing")->required();
  command->add_option("--format", arguments->format, "Data format")
      ->check(CLI::IsMember({"tfrecord", "images", "csv", "hdf5"}))
      ->capture_default_str();
  command->add_option("--images", options.images, "Number of images, or of texts")
      ->capture_default_str();
  command->add_option("--text", options.words,
                      "Write texts of about this many words instead of images (tfrecord only)");
  command->add_option("--size", arguments->size, "Image width and height, as in 500x375")
      ->capture_default_str();
  command->add_option("--classes", options.classes, "Number of classes")->capture_default_str();
  command
      ->add_option("--shards", options.shards,
                   "Number of files (ignored for images: one file per image)")
      ->capture_default_str();
  command->add_option("--seed", options.seed, "Random seed")->capture_default_str();
  command->callback([arguments, &exit_code] { exit_code = RunGenerate(*arguments); });
}

}  // namespace stallscope::cli
