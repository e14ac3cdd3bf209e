// The failures that can be switched on. Each tile: what it is called, what it means, the AWS code that lessor will see,
// its inputs, the call that switches it on, the call that switches it off, and how to tell that it is on.
"use strict";

const fault = (kind, code) => (s) => s.faults.some((f) => f.kind === kind && (!code || f.code === code));
const clearFaults = (kind, code) => () => [["clear_faults", code ? { kind, code } : { kind }]];

// A tile knows its own limits by name; one without a name was set from elsewhere and belongs to the tile that it is like.
const limits = (s, id, like) => s.capacity.limits.filter((l) => (l.name ? l.name === id : like(l)));
const limited = (id, like) => (s) => limits(s, id, like).length > 0;
const restore = (id, like) => (s) => limits(s, id, like).map(({ free, ...limit }) => ["restore_capacity", limit]);

const oneZone = ["zone-full", (l) => l.free === 0 && l.zone !== "*" && l.market === "*"];
const everywhere = ["no-gpus", (l) => l.free === 0 && l.zone === "*" && l.market === "*"];
const spot = ["no-spot", (l) => l.market === "spot"];
const few = ["few-left", (l) => l.free > 0 && l.market !== "spot"];

const TILES = [
  {
    group: "What AWS has",
    tiles: [
      {
        id: "zone-full", title: "One zone is full", code: "InsufficientInstanceCapacity",
        text: "No machines left in this zone; lessor should try the next one.",
        inputs: { zone: "us-east-1a", instance_type: "*" },
        on: (v) => [["refuse_capacity", { zone: v.zone, instance_type: v.instance_type, name: "zone-full" }]],
        off: restore(...oneZone), isOn: limited(...oneZone),
      },
      {
        id: "no-gpus", title: "No machines anywhere", code: "InsufficientInstanceCapacity",
        text: "Every zone refuses; the lease should wait and say which zones it tried.",
        inputs: { instance_type: "*" },
        on: (v) => [["refuse_capacity", { instance_type: v.instance_type, name: "no-gpus" }]],
        off: restore(...everywhere), isOn: limited(...everywhere),
      },
      {
        id: "no-spot", title: "The spot market is empty", code: "InsufficientInstanceCapacity",
        text: "On-demand still works; spot does not.",
        on: () => [["refuse_capacity", { market: "spot", name: "no-spot" }]],
        off: restore(...spot), isOn: limited(...spot),
      },
      {
        id: "few-left", title: "Only a few left", code: "fewer than asked",
        text: "Who asks for eight and would take one gets what is left.",
        inputs: { free: 5, instance_type: "*" },
        on: (v) => [["limit_capacity", { free: Number(v.free), instance_type: v.instance_type, name: "few-left" }]],
        off: restore(...few), isOn: limited(...few),
      },
      {
        id: "quota", title: "The vCPU quota is small", code: "VcpuLimitExceeded",
        text: "Quotas count vCPUs, not machines: one p5.48xlarge is 192. Retrying never helps.",
        inputs: { code: ["L-DB2E81BA G on-demand", "L-417A185B P on-demand", "L-3819A6DF G spot", "L-C4BD4855 P5 spot"], value: 8 },
        on: (v) => [["set_quota", { code: v.code.split(" ")[0], value: Number(v.value) }]],
        off: (s) => s.quotas.map((q) => ["set_quota", { code: q.code, value: 1152, account: q.account, region: q.region }]),
        isOn: (s) => s.quotas.some((q) => q.value < 1152),
      },
    ],
  },
  {
    group: "What happens to machines",
    tiles: [
      {
        id: "hidden", title: "AWS forgets new machines", code: "InvalidInstanceID.NotFound",
        text: "A machine that was just started is unknown for a while. It is not gone.",
        inputs: { seconds: 30 },
        on: (v) => [["hide_new_instances", { seconds: Number(v.seconds) }]],
        off: () => [["hide_new_instances", {}]],
        isOn: (s) => s.hiding.seconds > 0 || s.hiding.reads > 0,
      },
      {
        id: "dying", title: "The next launch dies", code: "pending → terminated",
        text: "AWS accepts the launch and ends it before it runs, with a reason.",
        inputs: { code: ["Client.VolumeLimitExceeded", "Client.InternalError", "Server.InsufficientInstanceCapacity", "Server.InternalError"] },
        on: (v) => [["fail_launches", { code: v.code, message: "The launch failed" }]],
        isOn: (s) => s.launch_failures.length > 0,
      },
      {
        id: "slow-states", title: "Everything takes long", code: "shutting-down",
        text: "Seconds until a machine runs, has stopped, is terminated.",
        inputs: { pending: 20, stopping: 30, shutting_down: 60 },
        on: (v) => [["set_delays", { pending: Number(v.pending), stopping: Number(v.stopping), shutting_down: Number(v.shutting_down) }]],
        off: () => [["set_delays", { pending: 4, stopping: 5, shutting_down: 6 }]],
        isOn: (s) => s.delays.shutting_down > 10 || s.delays.pending > 10 || s.delays.stopping > 10,
      },
    ],
  },
  {
    group: "What goes wrong on the way",
    tiles: [
      {
        id: "throttle", title: "Throttled", code: "RequestLimitExceeded",
        text: "The next calls are refused for being too many. Not a failure, and not an empty list.",
        inputs: { action: "Describe*", times: 50 },
        on: (v) => [["throttle", { action: v.action, times: Number(v.times) }]],
        off: clearFaults("error", "RequestLimitExceeded"), isOn: fault("error", "RequestLimitExceeded"),
      },
      {
        id: "buckets", title: "EC2's real rate limits", code: "RequestLimitExceeded",
        text: "The published token buckets: 100 describes and 20 a second, 5 launches and 2 a second.",
        on: () => [["throttle_like_aws", { on: true }]], off: () => [["throttle_like_aws", { on: false }]],
        isOn: (s) => s.throttling === "real",
      },
      {
        id: "lost-answer", title: "The answer gets lost", code: "connection broken",
        text: "AWS does it, lessor never hears of it. There must still be only one machine.",
        inputs: { action: "RunInstances", times: 1 },
        on: (v) => [["lose_answers", { action: v.action, times: Number(v.times) }]],
        off: clearFaults("lose-answer"), isOn: fault("lose-answer"),
      },
      {
        id: "lost-request", title: "The request gets lost", code: "connection broken",
        text: "The connection breaks before AWS has done anything.",
        inputs: { action: "RunInstances", times: 1 },
        on: (v) => [["lose_requests", { action: v.action, times: Number(v.times) }]],
        off: clearFaults("lose-request"), isOn: fault("lose-request"),
      },
      {
        id: "broken", title: "AWS has a bad hour", code: "InternalError",
        text: "Calls fail with HTTP 500 until this is switched off.",
        inputs: { action: "*" },
        on: (v) => [["fail", { action: v.action, code: "InternalError", message: "An internal error has occurred", status: 500, times: null }]],
        off: clearFaults("error", "InternalError"), isOn: fault("error", "InternalError"),
      },
      {
        id: "clock", title: "lessor's clock is wrong", code: "RequestExpired",
        text: "AWS refuses the signature of every call. No machine is gone because of that.",
        on: () => [["expire_requests", { on: true }]], off: () => [["expire_requests", { on: false }]],
        isOn: (s) => s.clock_skew,
      },
    ],
  },
  {
    group: "What lessor may do and know",
    tiles: [
      {
        id: "deny", title: "A permission is missing", code: "UnauthorizedOperation",
        text: "An explicit deny on top of the shipped policy.",
        inputs: { action: "ec2:TerminateInstances" },
        on: (v) => [["deny", { action: v.action }]], off: () => [["allow_again", {}]],
        isOn: (s) => s.denied.length > 0,
      },
      {
        id: "pricing", title: "No price list", code: "InternalErrorException",
        text: "The price API fails: a price that is not known is unknown, never zero.",
        on: () => [["make_pricing_unreachable", { on: true }]], off: () => [["make_pricing_unreachable", { on: false }]],
        isOn: (s) => s.pricing_unreachable,
      },
    ],
  },
];
