// What is kept beside a trace: bookmarks and where its user was looking. RUN.sst.view beside
// RUN.sst; the trace itself is never changed. Any thread.
#ifndef STALLSCOPE_GUI_SESSION_SIDE_FILE_H_
#define STALLSCOPE_GUI_SESSION_SIDE_FILE_H_

#include <string>
#include <vector>

#include "analyzer/base/result.h"
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
Status WriteSideNotes(const SideNotes& notes, const std::string& trace);

}  // namespace stallscope::session

#endif  // STALLSCOPE_GUI_SESSION_SIDE_FILE_H_
