#include "analyzer/export/chrome_events.h"

#include "analyzer/base/escape.h"

namespace stallscope::exporting {

std::string EventHead(char phase, std::string_view category, std::string_view name) {
  std::string head = "{\"ph\":\"";
  head += phase;
  head += "\",\"cat\":\"";
  AppendJsonEscaped(category, head);
  head += "\",\"name\":\"";
  AppendJsonEscaped(name, head);
  head += '"';
  return head;
}

void ChromeEvents::BeginFile() {
  sink_.Add("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"tool\":");
  sink_.AddJsonString(run_.info.tool);
  sink_.Add(",\"run\":");
  sink_.AddJsonString(run_.info.name);
  sink_.Add(",\"device_kind\":");
  sink_.AddJsonString(run_.info.device.kind);
  sink_.Add("},\"traceEvents\":[");
}

void ChromeEvents::EndFile() { sink_.Add("\n]}\n"); }

void ChromeEvents::BeginEvent() {
  sink_.Add(any_event_ ? ",\n" : "\n");
  any_event_ = true;
  any_argument_ = false;
}

void ChromeEvents::Metadata(const char* what, ThreadNumbers thread) {
  BeginEvent();
  sink_.Add("{\"ph\":\"M\",\"name\":\"");
  sink_.Add(what);
  sink_.Add("\",\"pid\":");
  sink_.AddUint(thread.pid);
  if (thread.tid == 0) return;
  sink_.Add(",\"tid\":");
  sink_.AddUint(thread.tid);
}

uint64_t ChromeEvents::Process(uint32_t rank, int64_t device, const std::string& name) {
  const auto [place, is_new] = processes_.try_emplace({rank, device}, processes_.size() + 1);
  const uint64_t pid = place->second;
  if (!is_new) return pid;
  Metadata("process_name", {pid, 0});
  Argument("name", run_.info.world_size > 1 ? "rank " + std::to_string(rank) + ": " + name : name);
  sink_.Add("}}");
  Metadata("process_sort_index", {pid, 0});
  Argument("sort_index", pid);
  sink_.Add("}}");
  return pid;
}

uint64_t ChromeEvents::HostProcess(uint32_t rank) {
  const std::string& host = run_.info.host.name;
  return Process(rank, -1, host.empty() ? "host" : "host " + host);
}

uint64_t ChromeEvents::ProcessOf(const model::Track& track) {
  const bool on_device = track.info.kind == trace::TrackKind::kStream ||
                         track.info.kind == trace::TrackKind::kCopyEngine;
  if (!on_device) return HostProcess(track.rank);
  std::string name = "device " + std::to_string(track.info.device);
  if (!run_.info.device.name.empty()) name += " " + run_.info.device.name;
  return Process(track.rank, track.info.device, name);
}

ThreadNumbers ChromeEvents::NewThread(uint64_t pid, std::string_view name) {
  const ThreadNumbers thread{pid, ++last_tid_};
  Metadata("thread_name", thread);
  Argument("name", name);
  sink_.Add("}}");
  Metadata("thread_sort_index", thread);
  Argument("sort_index", thread.tid);
  sink_.Add("}}");
  return thread;
}

void ChromeEvents::OpenSpan(std::string_view head, ThreadNumbers thread, int64_t start_ns,
                            int64_t end_ns) {
  BeginEvent();
  sink_.Add(head);
  sink_.Add(",\"pid\":");
  sink_.AddUint(thread.pid);
  sink_.Add(",\"tid\":");
  sink_.AddUint(thread.tid);
  sink_.Add(",\"ts\":");
  sink_.AddMicros(start_ns);
  sink_.Add(",\"dur\":");
  sink_.AddMicros(end_ns - start_ns);
}

void ChromeEvents::OpenInstant(std::string_view head, ThreadNumbers thread, int64_t time_ns) {
  BeginEvent();
  sink_.Add(head);
  sink_.Add(",\"s\":\"t\",\"pid\":");
  sink_.AddUint(thread.pid);
  sink_.Add(",\"tid\":");
  sink_.AddUint(thread.tid);
  sink_.Add(",\"ts\":");
  sink_.AddMicros(time_ns);
}

void ChromeEvents::OpenCounter(std::string_view head, uint64_t pid, int64_t time_ns) {
  BeginEvent();
  sink_.Add(head);
  sink_.Add(",\"pid\":");
  sink_.AddUint(pid);
  sink_.Add(",\"ts\":");
  sink_.AddMicros(time_ns);
}

void ChromeEvents::Key(std::string_view key) {
  sink_.Add(any_argument_ ? "," : ",\"args\":{");
  any_argument_ = true;
  sink_.AddJsonString(key);
  sink_.Add(':');
}

void ChromeEvents::Argument(std::string_view key, uint64_t value) {
  Key(key);
  sink_.AddUint(value);
}

void ChromeEvents::Argument(std::string_view key, double value) {
  Key(key);
  if (!sink_.AddDouble(value)) sink_.Add("null");
}

void ChromeEvents::Argument(std::string_view key, std::string_view text) {
  Key(key);
  sink_.AddJsonString(text);
}

Status ChromeEvents::Close() {
  sink_.Add(any_argument_ ? "}}" : "}");
  return sink_.Breathe();
}

}  // namespace stallscope::exporting
