"""Pure decisions about leases: standard library only, no clock, no I/O, no random; every function takes `now`."""
