// What the writers of a sweep's table share. Private to the room.
#ifndef STALLSCOPE_ANALYZER_REPORT_SWEEP_CELLS_H_
#define STALLSCOPE_ANALYZER_REPORT_SWEEP_CELLS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "analyzer/report/sweep_table.h"

namespace stallscope::report {

// The rows to show: all in their order, or the `most` fastest ones, the base always.
std::vector<size_t> RowsToShow(const SweepTable& table, size_t most);

// The head, then a row of texts for each of `rows`: configuration, predicted, measured, error,
// gain, memory, bound. kSweepNumbers are the columns of numbers.
std::vector<std::vector<std::string>> SweepCells(const SweepTable& table,
                                                 const std::vector<size_t>& rows);
extern const std::vector<size_t> kSweepNumbers;

// "images, run.sst: a grid of 12 points, 2 runs each"
std::string SweepPhrase(const SweepTable& table);
// "best: decode.parallelism=4, 812 samples/s measured, 1.92x the recorded configuration"; empty
// without figures.
std::string BestPhrase(const SweepTable& table);
// "predicted against measured, 12 points: median error 2.1 %, ..."; empty without both.
std::string AccuracyPhrase(const SweepTable& table);
// Name and reason of each row that has a note.
std::vector<std::string> SweepNotes(const SweepTable& table);

}  // namespace stallscope::report

#endif  // STALLSCOPE_ANALYZER_REPORT_SWEEP_CELLS_H_
