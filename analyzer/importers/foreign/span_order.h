// Brings a track's spans into the order that run.h promises. Any thread.
#ifndef STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_SPAN_ORDER_H_
#define STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_SPAN_ORDER_H_

#include "analyzer/trace/span_codec.h"

namespace stallscope::importers {

// By their ends; of the same end what encloses the other comes later, and of the same extent what
// was added first. Profilers write most spans by their starts, the enclosing one first: such runs
// cost a look at each span, and only what is really out of order is sorted.
void OrderSpans(trace::SpanColumns& spans);

}  // namespace stallscope::importers

#endif  // STALLSCOPE_ANALYZER_IMPORTERS_FOREIGN_SPAN_ORDER_H_
