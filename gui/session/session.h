// The program's state and the work that changes it, without a window.
//
// One thread owns a session (the window's): it calls Apply with the views' intents and Poll before
// each frame, and reads the published state. Neither ever waits: workers read files, analyze runs,
// sort spans, sweep and record, and Poll takes over their results. The destructor stops all of
// them, seals a running recording, and waits.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/base/result.h"
#include "gui/session/intents.h"
#include "gui/session/state.h"

namespace stallscope::session {

struct SessionOptions {
  Settings settings;
  std::string settings_path;         // empty: settings are not saved
  std::string program;               // `stallscope`, for replays; empty: they run in this process
  std::string tool;                  // "stallscope-gui 0.1.0", for recordings
  std::vector<std::string> samples;  // offered on the first start
  bool side_files = true;            // keep bookmarks and views beside traces
  unsigned threads = 2;              // per analysis
  // Called by workers when Poll has something to take, to wake a sleeping window. May be empty.
  std::function<void()> wake;
};

class Session {
 public:
  explicit Session(SessionOptions options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void Apply(const Intents& intents);
  // Takes over finished work; true if the state changed.
  bool Poll();
  // Never null. The same pointer as long as nothing changes.
  std::shared_ptr<const State> state() const;
  // At the end of the program: saves what is to be saved, seals a running recording, and stops what
  // writes or has a child. True if nothing is left; else some threads still compute unwanted
  // results, and the process should leave them behind by std::_Exit. Only the destructor may
  // follow.
  bool Close();
  // Polls until no worker has anything left to do, apart from following and recording: for drawing
  // one picture, and for tests.
  void Settle();

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace stallscope::session
