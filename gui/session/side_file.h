// What is kept beside a trace: bookmarks and where its user was looking. RUN.sst.view beside
// RUN.sst; the trace itself is never changed. Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/base/file.h"
#include "analyzer/base/result.h"
#include "gui/session/kept_file.h"
#include "gui/session/view.h"

namespace stallscope::session {

struct SideNotes {
  Panel panel = Panel::kOverview;
  Range visible;  // empty: the whole run
  Layout layout;
  std::vector<Bookmark> bookmarks;
  bool operator==(const SideNotes&) const = default;
};

// Something that a second look at the trace would miss. Which panel was shown is kept with the
// rest, and nothing to keep by itself.
bool Differ(const SideNotes& a, const SideNotes& b);

std::string SidePath(const std::string& trace);

// Nothing to read gives empty notes; an error (kInput) only for a file that is there and is not
// ours, which is then not overwritten.
Result<SideNotes> ReadSideNotes(const std::string& trace);
Status WriteSideNotes(const SideNotes& notes, const std::string& trace,
                      FileOps& ops = FileOps::Kernel());

// How windows share them, by the trace's path. A bookmark is told by its name and its range: those
// of all windows are kept, and one that any of them removed is gone.
struct SideNotesForm {
  static bool Differ(const SideNotes& a, const SideNotes& b) { return session::Differ(a, b); }
  static SideNotes Merge(const SideNotes& before, const SideNotes& mine, const SideNotes& theirs);
  static Result<std::optional<SideNotes>> Read(const std::string& trace);
  static Status Write(const SideNotes& notes, const std::string& trace, FileOps& ops) {
    return WriteSideNotes(notes, trace, ops);
  }
};
using SideFile = KeptFile<SideNotes, SideNotesForm>;

}  // namespace stallscope::session
