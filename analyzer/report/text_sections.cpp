#include "analyzer/report/text_sections.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "analyzer/base/escape.h"
#include "analyzer/report/layout.h"
#include "analyzer/report/phrases.h"
#include "analyzer/words/words.h"

namespace stallscope::report {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string CopyWord(const attribution::CopyUse& copy) {
  constexpr std::array<const char*, 3> kDirections = {"h2d", "d2h", "d2d"};
  constexpr std::array<const char*, 3> kMemory = {"", ", pinned", ", pageable"};
  return std::string("copies ") + kDirections[static_cast<size_t>(copy.direction)] +
         kMemory[static_cast<size_t>(copy.memory)];
}

std::string CopyDetail(const attribution::CopyUse& copy) {
  if (copy.bytes == 0) return "";  // the format does not tell: TF1's timelines
  std::string text = words::Bytes(copy.bytes);
  if (copy.ns > 0) {
    text += ", " + words::BytesPerSecond(static_cast<double>(copy.bytes) * 1e9 /
                                         static_cast<double>(copy.ns));
  }
  return text;
}

std::string Kernels(const Report& report) {
  constexpr size_t kShown = 8;
  if (report.kernels.empty()) return "";
  Rows rows{{"kernel", "count", "time", "share"}};
  for (size_t i = 0; i < std::min(report.kernels.size(), kShown); ++i) {
    const KernelRow& kernel = report.kernels[i];
    rows.push_back({kernel.name, words::Grouped(kernel.count), words::Duration(kernel.ns),
                    words::Percent(kernel.fraction)});
  }
  std::string text = "\n" + Table(rows, {1, 2, 3});
  if (report.kernels.size() > kShown) {
    text += fmt::format("  and {} more kernels\n", words::Grouped(report.kernels.size() - kShown));
  }
  return text;
}

std::string Computed(const Report& report) {
  const std::string phrase = ArithmeticPhrase(report);
  return phrase.empty() ? "" : "\n" + Lines(phrase, 2, 4);
}

std::string Idle(const attribution::DeviceIdle& idle) {
  if (idle.ns <= 0) return "";
  std::string text;
  const auto add = [&](int64_t ns, const char* why) {
    if (ns > 0) text += (text.empty() ? "" : ", ") + words::Duration(ns) + " " + why;
  };
  add(idle.input_ns, "for input");
  add(idle.launch_ns, "for launches");
  add(idle.sync_ns, "while the host waits for it");
  add(idle.other_ns, "for other reasons");
  return "\n" + Lines("idle " + words::Duration(idle.ns) + (text.empty() ? "" : ": " + text), 2, 4);
}

// One framework's code as it is, or each one's first line.
std::string CodeLines(const findings::Recommendation& recommendation, Framework wanted) {
  constexpr std::array<std::string_view, 5> kNames = {"", "tf.data", "pytorch", "dali", "grain"};
  std::string text;
  for (const auto& [name, code] : CodeOf(recommendation)) {
    if (wanted == Framework::kShort) {
      const size_t end = code.find_first_of("\r\n");
      std::string line = Printable(code.substr(0, end));
      if (end != std::string_view::npos && code.find_first_not_of("\r\n", end) != code.npos) {
        line += " …";
      }
      text += "     " + words::CutTo(fmt::format("{:<8} {}", name, line), kTextWidth - 5) + "\n";
    } else if (name == kNames[static_cast<size_t>(wanted)]) {
      text += "     " + std::string(name) + ":\n";
      // A line that is too long goes on with an indent of its own.
      for (size_t at = 0; at < code.size();) {
        const size_t end = std::min(code.find('\n', at), code.size());
        text += Lines(code.substr(at, end - at), 7, 9);
        at = end + 1;
      }
    }
  }
  return text;
}

std::string Finding(const FindingRow& finding, size_t number, const TextOptions& options) {
  const std::string place = PlacePhrase(finding);
  const bool grave = finding.severity >= findings::Severity::kMedium;
  std::string text =
      Painted(Lines(fmt::format("{}. {}: {}{}", number, findings::WordFor(finding.severity),
                                finding.id, place.empty() ? "" : ", " + place),
                    2, 5),
              grave ? Tone::kBad : Tone::kStrong, options.colors);
  text += Lines(finding.text, 5, 5);
  for (const EvidenceRow& evidence : finding.evidence) {
    if (!evidence.text.empty()) text += Lines("- " + evidence.text, 5, 7);
  }
  if (!finding.recommendation.has_value()) return text;
  const findings::Recommendation& recommendation = *finding.recommendation;
  text += Painted(Lines("=> " + recommendation.text, 5, 8), Tone::kGood, options.colors);
  const std::string gain = GainPhrase(recommendation);
  if (!gain.empty())
    text += Lines((recommendation.gain ? "gain " : "no gain known: ") + gain, 8, 10);
  const std::string memory = MemoryPhrase(recommendation);
  if (!memory.empty()) text += Lines("memory: " + memory, 8, 10);
  for (const std::string& line : PatchLines(recommendation.patch)) {
    text += Lines("patch " + line, 8, 10);
  }
  return text + CodeLines(recommendation, options.code);
}

}  // namespace

std::string Painted(const std::string& lines, Tone tone, bool colors) {
  if (lines.empty()) return lines;
  return Paint(lines.substr(0, lines.size() - 1), tone, colors) + "\n";
}

std::string Findings(const Report& report, const TextOptions& options) {
  std::string text = Heading("Findings", options.colors);
  if (report.findings.empty()) return text + "  none\n";
  for (size_t i = 0; i < report.findings.size(); ++i) {
    text += (i == 0 ? "" : "\n") + Finding(report.findings[i], i + 1, options);
  }
  return text;
}

std::string Devices(const Report& report, bool colors) {
  if (report.devices.empty()) return "";
  constexpr size_t kShown = 8;
  Rows rows{{"device", "", "count", "time", ""}};
  for (size_t i = 0; i < std::min(report.devices.size(), kShown); ++i) {
    const attribution::DeviceUse& device = report.devices[i];
    rows.push_back({fmt::format("{}: {}", device.device, device.name), "busy", "",
                    words::Duration(device.busy_ns), ""});
    rows.push_back(
        {"", "kernels", words::Grouped(device.kernels), words::Duration(device.kernel_ns), ""});
    for (const attribution::CopyUse& copy : device.copies) {
      rows.push_back({"", CopyWord(copy), words::Grouped(copy.count), words::Duration(copy.ns),
                      CopyDetail(copy)});
    }
  }
  std::string text = Heading("Devices, over the whole trace", colors) + Table(rows, {2, 3});
  if (report.devices.size() > kShown) {
    text += fmt::format("  and {} more devices\n", words::Grouped(report.devices.size() - kShown));
  }
  return text + Kernels(report) + Computed(report) + Idle(report.idle);
}

std::string Memory(const Report& report, bool colors) {
  const MemoryRow& memory = report.memory;
  Rows rows;
  if (memory.peak_rss_bytes) rows.push_back({"process", words::Bytes(*memory.peak_rss_bytes)});
  if (memory.device_peak_bytes) rows.push_back({"device", words::Bytes(*memory.device_peak_bytes)});
  for (const auto& [name, bytes] : memory.stages) {
    if (bytes != 0) rows.push_back({"held by " + name, words::Bytes(bytes)});
  }
  if (rows.empty()) return "";
  if (memory.limit_bytes) rows.push_back({"limit", words::Bytes(*memory.limit_bytes)});
  rows.insert(rows.begin(), {"memory", "at most"});
  return Heading("Memory", colors) + Table(rows, {1});
}

std::string Stragglers(const Report& report, bool colors) {
  if (report.stragglers.empty()) return "";
  std::string text = Heading("Longest waits for one element", colors);
  for (const std::string& line : report.stragglers) text += Lines(line, 2, 4);
  return text;
}

std::string BudgetSection(const Report& report, bool colors) {
  if (!report.budget.has_value()) return "";
  std::string text = Heading("Budget: " + BudgetPhrase(*report.budget), colors);
  for (const CheckRow& check : *report.budget) {
    const Tone tone = check.outcome == Outcome::kPass ? Tone::kPlain : Tone::kBad;
    const std::string level = check.level == CheckLevel::kWarn ? " (warn)" : "";
    text += Painted(Lines(fmt::format("{}{}: {}", WordFor(check.outcome), level, check.text), 2, 4),
                    tone, colors);
  }
  return text;
}

std::string Limits(const Report& report, bool colors) {
  std::string text;
  for (const std::string& limit : report.trust.limits) text += Lines(limit, 2, 4);
  return text.empty() ? "" : Heading("What this trace cannot show", colors) + text;
}

}  // namespace stallscope::report
