#include "gui/app/options.h"

#include <CLI/CLI.hpp>

#include <cstdlib>

#include "analyzer/spec/nearest.h"
#include "analyzer/usage/help.h"

namespace stallscope::app {
namespace {

constexpr int kLargestSide = 16384;

std::string PanelWords() {
  std::string words;
  for (const session::Panel panel : session::kAllPanels) {
    if (!words.empty()) words += ' ';
    words += session::WordFor(panel);
  }
  return words;
}

// What the help and the man page say besides the options.
usage::About AboutWindow() {
  return {"show why a training step waits for its data",
          "PANEL is one of: " + PanelWords() + ".",
          {{0, "success", ""},
           {2, "wrong usage", ""},
           {3, "a trace is missing or unreadable", ""},
           {5, "cannot run here (no display, no OpenGL 3, disk full)", ""}},
          {{"XDG_CONFIG_HOME", "The settings are in its folder stallscope, else in ~/.config."}}};
}

Error UsageError(const std::string& what, const std::string& where, const std::string& hint) {
  return {ErrorKind::kUsage, what, where, hint};
}

Result<PictureOrder> OrderOf(PictureForm form, const std::vector<std::string>& words) {
  const std::string option = form == PictureForm::kPng ? "--export-png" : "--export-svg";
  PictureOrder order{form, session::Panel::kOverview, words[1]};
  const auto panel = session::PanelOf(words[0]);
  if (!panel) {
    return UsageError("unknown panel " + Quoted(words[0]), option,
                      "choose one of: " + PanelWords());
  }
  order.panel = *panel;
  return order;
}

Status ReadSize(const std::string& text, Options& options) {
  const size_t by = text.find('x');
  char* end = nullptr;
  const long width = std::strtol(text.c_str(), &end, 10);
  const bool first = by != std::string::npos && end == text.c_str() + by;
  const long height = first ? std::strtol(text.c_str() + by + 1, &end, 10) : 0;
  if (!first || *end != '\0' || width < 64 || height < 64 || width > kLargestSide ||
      height > kLargestSide) {
    return UsageError("invalid size " + Quoted(text), "--size",
                      "write it as WIDTHxHEIGHT, such as 1280x800");
  }
  options.width = static_cast<int>(width);
  options.height = static_cast<int>(height);
  return {};
}

}  // namespace

Result<Options> ReadOptions(int argc, const char* const* argv) {
  Options options;
  CLI::App app("Shows why a training step waits for its data, and what to change.",
               "stallscope-gui");
  std::vector<std::string> png;
  std::vector<std::string> svg;
  std::string theme;
  std::string size;
  double scale = 0;
  app.add_option("TRACE", options.traces, "Traces to open; several are runs to compare");
  app.add_option("--export-png", png, "Write a panel as PNG; needs no display")
      ->expected(3)
      ->type_name("PANEL FILE TRACE");
  app.add_option("--export-svg", svg, "Write a panel as SVG; needs no display")
      ->expected(3)
      ->type_name("PANEL FILE TRACE");
  app.add_option("--theme", theme, "Color theme")->check(CLI::IsMember({"dark", "light"}));
  app.add_option("--scale", scale, "Scale of text and controls, 0.5 to 4")
      ->check(CLI::Range(session::kSmallestScale, session::kLargestScale));
  app.add_option("--size", size, "Size of an exported picture before scaling, such as 1280x800");
  bool man = false;
  app.add_flag("--man", man, "Print the manual page (view it with man -l)");
  app.set_version_flag("--version", std::string("stallscope-gui " STALLSCOPE_VERSION),
                       "Print the version and exit");
  usage::SetHelp(app, AboutWindow());
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    options.text = usage::HelpText(app);
    return options;
  } catch (const CLI::CallForVersion&) {
    options.text = app.version() + "\n";
    return options;
  } catch (const CLI::ParseError& error) {
    return usage::UsageError(app, error, {argv, argv + argc});
  }
  if (man) {
    options.text = usage::ManPage(app, AboutWindow());
    return options;
  }
  if (!png.empty() && !svg.empty()) {
    return UsageError("--export-png and --export-svg exclude each other", "", "give one of them");
  }
  if (!theme.empty())
    options.theme = theme == "light" ? session::Theme::kLight : session::Theme::kDark;
  if (scale > 0) options.scale = scale;
  if (!size.empty()) STALLSCOPE_RETURN_IF_ERROR(ReadSize(size, options));
  if (const std::vector<std::string>& words = png.empty() ? svg : png; !words.empty()) {
    if (!options.traces.empty()) {
      return UsageError("unexpected argument " + Quoted(options.traces.front()), "",
                        "an export takes one trace");
    }
    STALLSCOPE_ASSIGN_OR_RETURN(
        options.picture, OrderOf(png.empty() ? PictureForm::kSvg : PictureForm::kPng, words));
    options.traces = {words[2]};
  }
  return options;
}

}  // namespace stallscope::app
