// A plan on a device: every tensor has an address, every op is a launch. Inside this room.
#ifndef STALLSCOPE_COLLECTORS_TRAINER_PROGRAM_H_
#define STALLSCOPE_COLLECTORS_TRAINER_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "collectors/device/device.h"
#include "collectors/trainer/plan.h"

namespace stallscope::trainer {

// Where the arenas of a plan begin. On a device that computes nothing all may be 0.
struct Addresses {
  device::Address activations = 0;
  device::Address images = 0;
  device::Address labels = 0;
  device::Address weights = 0;
  device::Address gradients = 0;
  device::Address reduced = 0;
  device::Address moment1 = 0;
  device::Address moment2 = 0;
  device::Address state = 0;
};

struct Program {
  std::vector<device::Launch> compute;
  std::vector<device::Launch> update;
  // Where the step is captured; of several replicas the update has a graph of its own.
  std::shared_ptr<const device::Graph> compute_graph;
  std::shared_ptr<const device::Graph> update_graph;
  uint64_t flops = 0;
};

// Each launch knows its part of the step, by the arithmetic that it does.
Program Bind(const Plan& plan, const Addresses& addresses);

}  // namespace stallscope::trainer

#endif  // STALLSCOPE_COLLECTORS_TRAINER_PROGRAM_H_
