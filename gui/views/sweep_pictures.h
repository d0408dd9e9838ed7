// What came out of a sweep. Private to the room.
#ifndef STALLSCOPE_GUI_VIEWS_SWEEP_PICTURES_H_
#define STALLSCOPE_GUI_VIEWS_SWEEP_PICTURES_H_

#include "gui/session/intents.h"
#include "gui/viewmodel/sweep.h"

namespace stallscope::views {

// Heat map, lines, Pareto front, predicted against measured, and the table of all points.
void DrawSweepPictures(const viewmodel::SweepModel& model, session::Intents& intents);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_SWEEP_PICTURES_H_
