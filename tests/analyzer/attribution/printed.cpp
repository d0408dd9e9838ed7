#include "tests/analyzer/attribution/printed.h"

#include <cstdio>
#include <optional>
#include <tuple>
#include <type_traits>

namespace stallscope::test {
namespace {

class Printer {
 public:
  std::string text;

  // Each line is a name and its values; structured bindings below fail to compile when a struct
  // gets a field that is not printed.
  template <class... Values>
  void Line(const char* name, const Values&... values) {
    text += name;
    (Put(values), ...);
    text += '\n';
  }

 private:
  void Put(double value) {
    char buffer[40];
    std::snprintf(buffer, sizeof buffer, " %.17g", value);
    text += buffer;
  }
  void Put(const std::string& value) { text += " '" + value + "'"; }
  void Put(attribution::Category value) { text += " " + std::string(WordFor(value)); }
  void Put(attribution::Cause value) { text += " " + std::string(WordFor(value)); }
  void Put(trace::CopyDirection value) { Put(static_cast<int>(value)); }
  void Put(trace::CopyMemory value) { Put(static_cast<int>(value)); }
  template <class T>
  std::enable_if_t<std::is_integral_v<T>> Put(T value) {
    text += " " + std::to_string(value);
  }
  template <class Kind, class Number>
  void Put(Id<Kind, Number> id) {
    text += id.known() ? " #" + std::to_string(id.value) : " none";
  }
  template <class T>
  void Put(const std::optional<T>& value) {
    if (value.has_value()) {
      Put(*value);
    } else {
      text += " null";
    }
  }
  void Put(const attribution::Quantiles& q) {
    const auto& [mean, p50, p95, p99, variation] = q;
    for (const double value : {mean, p50, p95, p99, variation}) Put(value);
  }
  void Put(const attribution::QueueUse& use) {
    const auto& [queue, capacity, mean, empty, full, pushed] = use;
    Put(queue), Put(capacity), Put(mean), Put(empty), Put(full), Put(pushed);
  }
  void Put(const attribution::CategoryTotal& total) {
    const auto& [ns, fraction, low, high, bounded] = total;
    Put(ns), Put(fraction), Put(low), Put(high), Put(bounded ? 1 : 0);
  }
  void Put(const attribution::Throughput& t) {
    const auto& [rate, low, high, bounded] = t;
    Put(rate), Put(low), Put(high), Put(bounded ? 1 : 0);
  }
  void Put(const attribution::PerCategory<int64_t>& ns) {
    for (const int64_t value : ns) Put(value);
  }
};

void PrintTime(const attribution::Attribution& a, Printer& p) {
  const auto& [start, end, first_row, rows, steps, warmup, cold, first_epoch, probed, of,
               profiled] = a.window;
  p.Line("window", start, end, first_row, rows, steps, warmup, first_epoch ? 1 : 0, probed, of);
  if (profiled.has_value()) {
    const auto& [from, to, first, count, whole] = *profiled;
    p.Line("profiled", from, to, first, count, whole);
  }
  if (cold.has_value()) {
    const auto& [cold_steps, from, to, cost, stage, slower, cause] = *cold;
    p.Line("cold start", cold_steps, from, to, cost, stage, slower, static_cast<int>(cause));
  }
  for (const auto& [rank, device, slices] : a.timelines) {
    p.Line("timeline", rank, device);
    for (const auto& [from, to, category] : slices) p.Line(" slice", from, to, category);
  }
  for (const auto& [index, rank, from, to, samples, ns] : a.steps) {
    p.Line("step", index, rank, from, to, samples, ns);
  }
  for (const auto& total : a.breakdown) p.Line("breakdown", total);
  for (const auto& [stage, cause, ns, fraction] : a.blame) {
    p.Line("blame", stage, cause, ns, fraction);
  }
  for (const auto& [step, stall, element, took, from, stage, cause, item, file, record] :
       a.stragglers) {
    p.Line("straggler", step, stall, element, took, from, stage, cause, item, file, record);
  }
}

void PrintStages(const attribution::Attribution& a, Printer& p) {
  for (const auto& [stage, workers, ordered, serial, runs_in, threads, elements, passed, items,
                    service, busy, cpu, io, blocked_ns, contention, lock, utilization, starved,
                    blocked, bytes, capacity, queue, ops, sampled, held] : a.stages) {
    p.Line("stage", stage, workers, ordered, serial, runs_in, threads, elements, passed, items,
           service, busy, cpu, io, blocked_ns, contention, lock, utilization, starved, blocked,
           bytes, capacity, queue, sampled, held);
    for (const auto& [name, file, line, count, ns, cpu_ns, lines, whole] : ops) {
      p.Line(" op", name, file, line, count, ns, cpu_ns, whole);
      for (const auto& [number, share, samples] : lines) {
        p.Line("  line", number, share, samples);
      }
    }
  }
}

void PrintDevices(const attribution::Attribution& a, Printer& p) {
  for (const auto& [rank, device, name, busy, kernels, kernel_ns, copies] : a.devices) {
    p.Line("device", rank, device, name, busy, kernels, kernel_ns);
    for (const auto& [direction, memory, count, bytes, ns] : copies) {
      p.Line(" copies", direction, memory, count, bytes, ns);
    }
  }
  for (const auto& [name, count, ns, fraction, communication] : a.kernels) {
    p.Line("kernel", name, count, ns, fraction, communication);
  }
  const auto& [ns, launch, input, sync, other, queue, launches] = a.idle;
  p.Line("idle", ns, launch, input, sync, other, queue, launches);
}

void PrintMachine(const attribution::Attribution& a, Printer& p) {
  const auto& [cores, busy, run_wait, throttled, steal, read, disk, trainer_run_wait,
               taken_by_input, others, others_are_ranks, loading, beside_loading] = a.cpu;
  p.Line("cpu", cores, busy, run_wait, throttled, steal, read, disk, trainer_run_wait,
         taken_by_input, others, others_are_ranks, loading, beside_loading);
  const auto& [peak, on_device, available, limit, growth, stages] = a.memory;
  p.Line("memory", peak, on_device, available, limit, growth);
  for (const auto& [stage, bytes] : stages) p.Line(" held", stage, bytes);
  for (const auto& [process, cpu, run_wait_ns, read_bytes, disk_bytes, peak_rss, only_own] :
       a.processes) {
    p.Line("process", process, cpu, run_wait_ns, read_bytes, disk_bytes, peak_rss, only_own);
  }
  if (!a.arithmetic.has_value()) return;
  const auto& [step, rate, computing, most, share] = *a.arithmetic;
  p.Line("arithmetic", step, rate, computing, most, share);
}

}  // namespace

std::string Printed(const attribution::Attribution& attribution) {
  const auto& [window, timelines, steps, breakdown, blame, beside, stragglers, stages, devices,
               kernels, idle, cpu, memory, processes, arithmetic, throughput, step_ns, rate_steps,
               slowed_by_profiler, beside_profile, cross_check, sensitivities, limits] =
      attribution;
  static_cast<void>(std::tie(window, timelines, steps, breakdown, blame, stragglers, stages,
                             devices, kernels, idle, cpu, memory, processes, arithmetic));
  Printer p;
  PrintTime(attribution, p);
  PrintStages(attribution, p);
  PrintDevices(attribution, p);
  PrintMachine(attribution, p);
  for (const auto& [name, count, ns, fraction] : beside) {
    p.Line("beside", name, count, ns, fraction);
  }
  p.Line("throughput", throughput);
  p.Line("step_ns", step_ns, rate_steps, slowed_by_profiler);
  if (beside_profile) {
    const auto& [profiled, others] = *beside_profile;
    p.Line("beside_profile", profiled.steps, profiled.waiting, profiled.work_ns,
           profiled.longest_ns, others.steps, others.waiting, others.work_ns, others.longest_ns);
  }
  const auto& [by_capacity, agrees, text] = cross_check;
  p.Line("cross_check", by_capacity, agrees, text);
  for (const auto& [stage, mean, low, high, bounded, windows, slowed_by] : sensitivities) {
    p.Line("sensitivity", stage, mean, low, high, bounded, windows, slowed_by);
  }
  for (const std::string& limit : limits) p.Line("limit", limit);
  return p.text;
}

}  // namespace stallscope::test
