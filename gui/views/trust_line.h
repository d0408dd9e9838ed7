// Whether the run can be believed: the line that opens every view of it. The thread of the context.
#ifndef STALLSCOPE_GUI_VIEWS_TRUST_LINE_H_
#define STALLSCOPE_GUI_VIEWS_TRUST_LINE_H_

#include "gui/viewmodel/overview.h"

namespace stallscope::views {

// Green with a tick where nothing is lost, else red with a mark; the warnings are its tooltip.
void DrawTrustLine(const viewmodel::TrustLine& trust, float width = 0);

}  // namespace stallscope::views

#endif  // STALLSCOPE_GUI_VIEWS_TRUST_LINE_H_
