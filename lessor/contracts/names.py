"""Names that two processes must spell alike: queues, workflows, schedules, signals, search attributes, tags."""

TASK_QUEUE = "lessor"

QUEUE_AWS = "lessor-aws"

QUEUE_KUBERNETES = "lessor-kubernetes"

QUEUE_MACHINES = "lessor-machines"

QUEUE_SLACK = "lessor-slack"

LEASE_WORKFLOW = "LeaseWorkflow"

SWEEP_WORKFLOW = "SweepWorkflow"

SWEEP_SCHEDULE = "lessor-sweep"

PEOPLE_WORKFLOW = "PeopleSweepWorkflow"

PEOPLE_SCHEDULE = "lessor-people"

METER_WORKFLOW = "MeterWorkflow"

METER_SCHEDULE = "lessor-meter"

MEMO_INTERACTION = "interaction"

SEARCH_ATTRIBUTES = {
    "GpuState": "Keyword",
    "GpuOwner": "Keyword",
    "GpuTeam": "Keyword",
    "GpuProvider": "Keyword",
    "GpuModel": "Keyword",
    "GpuMarket": "Keyword",
    "GpuWorkload": "Keyword",
    "GpuCount": "Int",
    "GpuHourlyUsd": "Double",
    "GpuEnds": "Datetime",
    "GpuResources": "KeywordList",
}
"""What a namespace has to know, each with its type as Temporal's command line spells it."""

TAG_LEASE = "lessor:lease"

TAG_OWNER = "lessor:owner"

TAG_TEAM = "lessor:team"

TAG_COST_CENTER = "lessor:cost-center"

TAG_PURPOSE = "lessor:purpose"

TAG_ENDS = "lessor:ends"

TAG_MANAGED_BY = "lessor:managed-by"

MANAGED_BY = "lessor"

LABEL_LEASE = "lessor.dev/lease"

LABEL_TEAM = "lessor.dev/team"

LABEL_MANAGED_BY = "lessor.dev/managed-by"

ANNOTATION_PREFIX = "lessor.dev/"
"""Before owner, cost-center, purpose and ends, which labels cannot hold."""

GROUP_MEMBER = "auto-scaling-group"
"""The code of a provider's refusal to touch a machine alone that a group of machines would replace."""

NOT_STOPPABLE = "not-stoppable"
"""The code of a provider's refusal to stop what it could not start again, or does not know how to stop (case D07)."""

QUEUED = "queued"
"""The code of having no capacity yet with a place in a queue that is kept: what was made of it stays."""

SIGNAL_ACT = "act"

SIGNAL_OBSERVED = "observed"

SIGNAL_RESTAFF = "restaff"

SIGNAL_OWNER_LEFT = "owner-left"

SIGNAL_METERED = "metered"

SIGNAL_OVER_BUDGET = "over-budget"

QUERY_LEASE = "lease"
