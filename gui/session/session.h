// The program's state and the work that changes it, without a window.
//
// One thread owns a session (the window's): it calls Apply with what the views asked for, Poll
// before each frame, and reads the published state. Neither ever waits: files are read, runs
// analysed, spans sorted, sweeps and recordings made by workers, whose results Poll takes over.
// The destructor asks all of them to end, seals a recording that runs, and waits for them.
#ifndef STALLSCOPE_GUI_SESSION_SESSION_H_
#define STALLSCOPE_GUI_SESSION_SESSION_H_

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
  std::string settings_path;         // empty: settings are not kept
  std::string program;               // `stallscope`, which replays run in; empty: in this process
  std::string tool;                  // "stallscope-gui 0.1.0", for recordings
  std::vector<std::string> samples;  // traces that the first start offers
  bool side_files = true;            // bookmarks and views are kept beside traces
  unsigned threads = 2;              // that one analysis may use
  // Called by workers when Poll has something to take: wakes a window that sleeps. May be empty.
  std::function<void()> wake;
};

class Session {
 public:
  explicit Session(SessionOptions options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void Apply(const Intents& intents);
  // Takes over what workers have finished; true where the state changed.
  bool Poll();
  // Never null. The same pointer as long as nothing changes.
  std::shared_ptr<const State> state() const;
  // The end of the program: keeps what is to be kept, seals a recording that runs, and ends what
  // has a child or writes. True where nothing is left; else some threads still compute what nobody
  // waits for, and a process that ends leaves them behind by std::_Exit, after which nothing of the
  // session may be used. Nothing but the destructor may follow.
  bool Close();
  // Polls until no worker has anything left to do, live following and recordings aside: for what
  // draws one picture, and for tests.
  void Settle();

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace stallscope::session

#endif  // STALLSCOPE_GUI_SESSION_SESSION_H_
