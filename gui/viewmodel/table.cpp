#include "gui/viewmodel/table.h"

#include <string_view>

#include "analyzer/base/escape.h"

namespace stallscope::viewmodel {
namespace {

std::string CsvField(std::string_view text) {
  std::string field;
  AppendCsvField(text, field);
  return field;
}

template <class Field>
void AddRow(std::string& text, size_t count, std::string_view between, std::string_view end,
            Field&& field) {
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) text += between;
    text += field(i);
  }
  text += end;
}

template <class Quote>
std::string Separated(const Table& table, std::string_view between, std::string_view end,
                      Quote&& quote) {
  std::string text;
  AddRow(text, table.columns.size(), between, end,
         [&](size_t i) { return quote(table.columns[i].name); });
  for (const auto& row : table.rows) {
    AddRow(text, row.size(), between, end, [&](size_t i) { return quote(row[i].text); });
  }
  return text;
}

std::string Markdown(const Table& table) {
  std::string text = "| ";
  const size_t count = table.columns.size();
  AddRow(text, count, " | ", " |\n|",
         [&](size_t i) { return EscapeMarkdown(table.columns[i].name); });
  AddRow(text, count, "|", "|\n",
         [&](size_t i) { return std::string(table.columns[i].number ? " ---: " : " --- "); });
  for (const auto& row : table.rows) {
    text += "| ";
    AddRow(text, row.size(), " | ", " |\n", [&](size_t i) { return EscapeMarkdown(row[i].text); });
  }
  return text;
}

}  // namespace

Table TableOf(const report::Table& table) {
  Table shown;
  for (const report::Table::Column& column : table.columns) {
    shown.columns.push_back({column.title, column.number});
  }
  for (const std::vector<std::string>& row : table.rows) {
    std::vector<TableCell>& cells = shown.rows.emplace_back();
    for (const std::string& text : row) cells.push_back({text});
  }
  return shown;
}

std::string TextOf(const Table& table, TableForm form) {
  switch (form) {
    case TableForm::kCsv:
      return Separated(table, ",", "\r\n", &CsvField);
    case TableForm::kTsv:
      return Separated(table, "\t", "\n", &TsvField);
    case TableForm::kMarkdown:
      return Markdown(table);
  }
  return {};
}

}  // namespace stallscope::viewmodel
