// Visits the fields of a row by what they are, so that ids and times of every table can be checked
// or moved in one place. The list of fields is the one that the file is written by (table_codec.h):
// a column that is added there is visited here.
#pragma once

#include <tuple>

#include "analyzer/trace/table_codec.h"

namespace stallscope::model {

// Calls visit(field) for each field of `row`.
template <class Row, class Visit>
void ForEachField(Row& row, Visit&& visit) {
  [&]<class... C>(std::tuple<C...>*) {
    (visit(row.*C::kMember), ...);
  }(static_cast<typename trace::Columns<Row>::List*>(nullptr));
}

}  // namespace stallscope::model
