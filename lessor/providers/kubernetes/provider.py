"""The Kubernetes provider: the port's methods, each handed to the module that knows how.

Every function below takes a `Site` (site.py) first, calls the cluster by `site.api` only, tells the time by
`site.clock` and waits by `site.sleep`; `heartbeat` is called before each external write and while waiting.

    offers        offers.offers(site, need, market) -> tuple[Offer, ...]
    quote         offers.quote(site, need, market, now) -> Quote
    candidates    offers.candidates(site, order) -> tuple[Candidate, ...]
    launch        launching.launch(site, order, candidate, heartbeat) -> tuple[Resource, ...]
                    what it needs of the shapes: gpus.shape(site, resource, model) -> GpuShape
                    and, unless a queue decides: capacity.require_room(site, shape, count, candidate) -> None,
                    which raises NoCapacityError with tried=(str(candidate),)
    await_usable  usable.await_usable(site, order, resources, heartbeat) -> Provisioned
    look          inventory.look(site, lease_id, known) -> Sighting
    stop, start   lifecycle.stop|start(site, lease_id, heartbeat) -> datetime
    snapshot      volumes.snapshot(site, lease_id, heartbeat) -> tuple[Resource, ...]
    delete        removal.delete(site, lease_id, known, heartbeat) -> None
    set_end       ownership.set_end(site, lease_id, ends) -> None
    set_owner     ownership.set_owner(site, lease_id, owner, team, cost_center) -> None
    conditions    inventory.conditions(site) -> tuple[Tagged, ...]
    attribute     inventory.attribute(site, heartbeat) -> tuple[Resource, ...]
    census        capacity.census(site) -> Census
    credentials   keys.credentials(site, lease_id, heartbeat) -> Credentials
"""
