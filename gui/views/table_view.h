// A table of texts, with the menu that copies it. The thread of the context.
#ifndef STALLSCOPE_GUI_VIEWS_TABLE_VIEW_H_
#define STALLSCOPE_GUI_VIEWS_TABLE_VIEW_H_

#include <cstddef>
#include <functional>
#include <optional>

#include "gui/session/intents.h"
#include "gui/viewmodel/table.h"

namespace stallscope::views {

struct TableLook {
  float height = 0;              // 0: as many rows as there are
  bool clickable = false;        // rows are
  std::optional<size_t> chosen;  // that is marked
};

// Returns the row that was clicked. A right click on the table offers to copy it; so does the
// button that CopyButton makes.
std::optional<size_t> DrawTable(const char* id, const viewmodel::Table& table,
                                const TableLook& table_look, session::Intents& intents);

// How high it is with all its rows.
float TableHeight(const viewmodel::Table& table);

// A table under a heading, with the button that copies it. Where it `fills` the room it scrolls.
void DrawTitledTable(const char* title, const viewmodel::Table& table, bool fills,
                     session::Intents& intents);

// A small button that offers CSV, TSV and Markdown.
void CopyButton(const char* id, const std::function<viewmodel::Table()>& table,
                session::Intents& intents);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_TABLE_VIEW_H_
