#include "gui/session/desk.h"

#include <utility>

namespace stallscope::session {

namespace {

constexpr size_t kMostNotices = 20;

}  // namespace

void Desk::Notify(NoticeLevel level, std::string text) {
  if (!state.notices.empty() && state.notices.back().text == text) return;
  state.notices.push_back({++last_notice, level, std::move(text)});
  if (state.notices.size() > kMostNotices) state.notices.erase(state.notices.begin());
  changed = true;
}

Request& Desk::Ask(Request::Kind kind) {
  state.request = Request{};
  state.request.number = ++last_request;
  state.request.kind = kind;
  changed = true;
  return state.request;
}

void Desk::AskWhatToOpen(OpenWhat what) {
  state.open = what;
  Ask(Request::Kind::kOpenDialog);
}

void Desk::AskWhereToSave(SaveWhat what, const std::string& suggestion) {
  state.save = what;
  Ask(Request::Kind::kSaveDialog).path = suggestion;
}

void Desk::Change(RunNumber run, const std::function<void(OpenRun&)>& change) {
  for (std::shared_ptr<const OpenRun>& open : state.runs) {
    if (open->number != run) continue;
    auto copy = std::make_shared<OpenRun>(*open);
    change(*copy);
    open = std::move(copy);
    changed = true;
    return;
  }
}

}  // namespace stallscope::session
