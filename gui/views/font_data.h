// The fonts that are built into the program, so that text looks the same on every machine. Private
// to the room.
#ifndef STALLSCOPE_GUI_VIEWS_FONT_DATA_H_
#define STALLSCOPE_GUI_VIEWS_FONT_DATA_H_

#include <cstdint>
#include <span>

namespace stallscope::views {

enum class FontFile : uint8_t {
  kRegular,  // Roboto: its digits are all of one width
  kBold,     // Roboto Medium
  kMono,     // DejaVu Sans Mono, for code
  kSigns     // DejaVu Sans, for arrows and other signs that Roboto does not have
};

// Lives as long as the program.
std::span<const unsigned char> FontData(FontFile file);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_FONT_DATA_H_
