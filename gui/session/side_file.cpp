#include "gui/session/side_file.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "analyzer/base/escape.h"
#include "analyzer/base/file.h"
#include "analyzer/trace/limits.h"

namespace stallscope::session {
namespace {

constexpr uint64_t kMostSideBytes = uint64_t{4} << 20;
constexpr const char* kSchema = "stallscope.view/1";
constexpr size_t kMostBookmarks = 1'000;

nlohmann::ordered_json ToJson(const Range& range) {
  return nlohmann::ordered_json::array({range.start_ns, range.end_ns});
}

Range RangeOf(const nlohmann::json& json) {
  if (!json.is_array() || json.size() != 2 || !json[0].is_number_integer() ||
      !json[1].is_number_integer()) {
    return {};
  }
  const Range range{json[0].get<int64_t>(), json[1].get<int64_t>()};
  const bool sane =
      trace::IsTime(range.start_ns) && trace::IsTime(range.end_ns) && range.start_ns < range.end_ns;
  return sane ? range : Range{};
}

std::string TextOf(const nlohmann::json& json, const char* key) {
  return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
}

SideNotes NotesOf(const nlohmann::json& json) {
  SideNotes notes;
  notes.panel = PanelOf(TextOf(json, "panel")).value_or(Panel::kOverview);
  if (json.contains("visible")) notes.visible = RangeOf(json["visible"]);
  if (json.contains("collapsed") && json["collapsed"].is_array()) {
    for (const auto& key : json["collapsed"]) {
      if (key.is_string()) notes.layout.collapsed.insert(key.get<std::string>());
    }
  }
  if (json.contains("bookmarks") && json["bookmarks"].is_array()) {
    for (const auto& one : json["bookmarks"]) {
      if (!one.is_object() || notes.bookmarks.size() >= kMostBookmarks) continue;
      const Range visible = one.contains("visible") ? RangeOf(one["visible"]) : Range{};
      if (visible.ns() > 0) notes.bookmarks.push_back({TextOf(one, "name"), visible});
    }
  }
  return notes;
}

}  // namespace

bool Differ(const SideNotes& a, const SideNotes& b) {
  return a.visible != b.visible || a.layout.collapsed != b.layout.collapsed ||
         a.bookmarks != b.bookmarks;
}

std::string SidePath(const std::string& trace) { return trace + ".view"; }

Result<SideNotes> ReadSideNotes(const std::string& trace) {
  const std::string path = SidePath(trace);
  std::error_code failed;
  if (!std::filesystem::exists(path, failed)) return SideNotes{};
  // It may have come with the trace: a pipe would be waited for.
  if (!std::filesystem::is_regular_file(path, failed)) {
    return Error{ErrorKind::kInput, "not a regular file", path,
                 "move it away, or this trace's bookmarks are not saved"};
  }
  STALLSCOPE_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path, kMostSideBytes));
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || TextOf(json, "schema") != kSchema) {
    return Error{ErrorKind::kInput, "not a stallscope view file", path,
                 "move it away, or this trace's bookmarks are not saved"};
  }
  return NotesOf(json);
}

Result<std::optional<SideNotes>> SideNotesForm::Read(const std::string& trace) {
  std::error_code failed;
  if (!std::filesystem::exists(SidePath(trace), failed)) return std::optional<SideNotes>();
  STALLSCOPE_ASSIGN_OR_RETURN(SideNotes notes, ReadSideNotes(trace));
  return std::optional<SideNotes>(std::move(notes));
}

SideNotes SideNotesForm::Merge(const SideNotes& before, const SideNotes& mine,
                               const SideNotes& theirs) {
  SideNotes merged = mine;
  // Where one is looking oneself counts for more; where one has not moved, the other's.
  if (mine.visible == before.visible) merged.visible = theirs.visible;
  const auto has = [](const std::vector<Bookmark>& all, const Bookmark& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  };
  merged.bookmarks.clear();
  for (const Bookmark& one : mine.bookmarks) {
    const bool removed = has(before.bookmarks, one) && !has(theirs.bookmarks, one);
    if (!removed) merged.bookmarks.push_back(one);
  }
  for (const Bookmark& one : theirs.bookmarks) {
    if (!has(before.bookmarks, one) && !has(mine.bookmarks, one)) merged.bookmarks.push_back(one);
  }
  auto& collapsed = merged.layout.collapsed;
  for (const std::string& lane : theirs.layout.collapsed) {
    if (!before.layout.collapsed.contains(lane)) collapsed.insert(lane);
  }
  for (const std::string& lane : before.layout.collapsed) {
    if (!theirs.layout.collapsed.contains(lane)) collapsed.erase(lane);
  }
  return merged;
}

Status WriteSideNotes(const SideNotes& notes, const std::string& trace, FileOps& ops) {
  nlohmann::ordered_json json = {{"schema", kSchema}, {"panel", WordFor(notes.panel)}};
  if (notes.visible.ns() > 0) json["visible"] = ToJson(notes.visible);
  json["collapsed"] = notes.layout.collapsed;
  json["bookmarks"] = nlohmann::ordered_json::array();
  for (const Bookmark& bookmark : notes.bookmarks) {
    json["bookmarks"].push_back({{"name", bookmark.name}, {"visible", ToJson(bookmark.visible)}});
  }
  return WriteFileAtomically(SidePath(trace), JsonText(json) + "\n", Over::kOwnInput, ops);
}

}  // namespace stallscope::session
