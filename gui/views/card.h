// A framed part of a panel. The thread of the context.
#ifndef STALLSCOPE_GUI_VIEWS_CARD_H_
#define STALLSCOPE_GUI_VIEWS_CARD_H_

#include <imgui.h>

#include <string_view>

namespace stallscope::views {

// Begins with the object and ends with it. A size of 0 is all the room there is; a negative one
// leaves so much of it.
class Card {
 public:
  Card(const char* id, ImVec2 size, std::string_view title = {}, bool scrolls = false);
  ~Card();
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;
};

// How high a card is that holds this.
float CardHeight(float content_height, bool titled);

// The width of each of `count` parts side by side.
float ShareOfWidth(int count);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_CARD_H_
