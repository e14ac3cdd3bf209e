"""Opens the places of the configuration: what the organisation has set, in the words of each provider."""

from __future__ import annotations

import contextlib
from datetime import UTC, date, datetime
from pathlib import Path

from lessor.catalog import Catalogue
from lessor.config import Config, DiskPriceConfig, PlaceConfig, PriceConfig
from lessor.config.clusters import ClusterRateConfig, KubernetesConfig, WorkspaceConfig
from lessor.domain.money import Money
from lessor.providers.aws import Ec2Place, OwnDiskPrice, OwnPrice
from lessor.providers.kubernetes.cluster import Cluster
from lessor.providers.kubernetes.place import KubernetesPlace, Rate, Workspace
from lessor.providers.kubernetes.provider import KubernetesProvider
from lessor.providers.kubernetes.site import Subjects
from lessor.reload import LiveConfig
from lessor.settings import SettingsError, named_secret


def ec2_places(config: Config) -> dict[str, Ec2Place]:
    """The accounts, by the names of their places."""
    currency = config.organisation.currency
    return {place.name: _ec2_place(place, currency) for place in config.places if place.provider == "aws"}


def external_id(place: PlaceConfig) -> str:
    """What other accounts want to hear; empty where they want nothing, or this process was not told.

    Without it a command line still does all that needs no account: whoever assumes the role says what is missing.
    """
    with contextlib.suppress(SettingsError):
        return _told_external_id(place)
    return ""


def require_external_ids(config: Config) -> None:
    """Raise `SettingsError` for a variable of an external id that is not set, where places are to be kept up."""
    for place in config.places:
        _told_external_id(place)


def _told_external_id(place: PlaceConfig) -> str:
    if not place.external_id_env:
        return ""
    return named_secret(place.external_id_env, f"the external id of the place {place.name}")


def kubernetes_places(config: Config) -> dict[str, KubernetesPlace]:
    """The clusters, by the names of their places."""
    currency = config.organisation.currency
    return {
        place.name: _kubernetes_place(place.name, place.kubernetes or KubernetesConfig(), currency)
        for place in config.places
        if place.provider == "kubernetes"
    }


def kubernetes_provider(live: LiveConfig, catalogue: Catalogue, templates: Path | None) -> KubernetesProvider | None:
    """The provider for all clusters, or `None` where there are none. Nothing is asked of a cluster until it is needed.

    Clusters are those of KUBECONFIG, as it is when they are first needed.
    """
    places = kubernetes_places(live.config)

    def cluster(place: KubernetesPlace) -> Cluster:
        return Cluster(place, lambda: datetime.now(UTC))

    if not places:
        return None
    return KubernetesProvider(places, cluster, catalogue, subjects(live), templates=templates)


def subjects(live: LiveConfig) -> Subjects:
    """Who gets into a lease's namespace, by the addresses that they sign in with: its owner and its team's lead.

    Everybody of a team where `team:KEY` stands in the owner's place. Not those whom the configuration calls inactive.
    """

    def of(owner: str, team: str) -> tuple[str, ...]:
        config = live.config
        known = {person.id: person.email for person in config.organisation.people if person.active}
        refs = [*_refs(config, owner), *_refs(config, f"lead:{team}")]
        addresses = (known.get(config.person_id(ref) or "", "") for ref in refs)
        return tuple(dict.fromkeys(address for address in addresses if address))

    return of


def _refs(config: Config, who: str) -> tuple[str, ...]:
    """The people behind an id, `team:KEY` or `lead:KEY`."""
    kind, _, key = who.rpartition(":")
    team = config.organisation.teams.get(key) if kind else None
    if not kind:
        return (who,)
    if team is None:
        return ()
    return (team.lead, *team.members) if kind == "team" else (team.lead,)


def _ec2_place(place: PlaceConfig, currency: str) -> Ec2Place:
    usual = Ec2Place(place.name, place.regions)
    return Ec2Place(
        name=place.name,
        regions=place.regions,
        account=place.account,
        role_arn=place.role_arn,
        external_id=external_id(place),
        external_id_env=place.external_id_env,
        zones=place.zones,
        markets=place.markets,
        instance_types=place.instance_types,
        subnets=place.subnets,
        security_group=place.security_group,
        instance_profile=place.instance_profile or usual.instance_profile,
        ami_parameter=place.ami_parameter or usual.ami_parameter,
        ami_parameter_arm=place.ami_parameter_arm,
        kms_key=place.kms_key,
        user_data_template=place.user_data_template or usual.user_data_template,
        prices={kind: _own_price(price, currency) for kind, price in place.prices.items()},
        disks=_own_disk_price(place.disks, currency),
    )


def _own_price(price: PriceConfig, currency: str) -> OwnPrice:
    return OwnPrice(
        on_demand=Money(price.on_demand, currency) if price.on_demand else None,
        spot=Money(price.spot, currency) if price.spot else None,
        since=price.since or date.min,
    )


def _own_disk_price(price: DiskPriceConfig | None, currency: str) -> OwnDiskPrice | None:
    return OwnDiskPrice(Money(price.gib_month, currency), price.since or date.min) if price else None


def _kubernetes_place(name: str, cluster: KubernetesConfig, currency: str) -> KubernetesPlace:
    disks = cluster.disks
    return KubernetesPlace(
        name=name,
        context=cluster.context,
        in_cluster=cluster.in_cluster,
        uid=cluster.uid,
        address=cluster.address,
        kinds=cluster.kinds,
        rates={model: _rate(rate, currency) for model, rate in cluster.rates.items()},
        resources=dict(cluster.resources),
        disk_monthly=Money(disks.gib_month, currency) if disks else None,
        disk_since=(disks.since if disks else None) or date.min,
        storage_class=cluster.storage_class,
        claims_kept=cluster.claims_kept,
        delete_retained=cluster.delete_retained,
        cluster_queue=cluster.cluster_queue,
        role=cluster.role,
        user_prefix=cluster.user_prefix,
        access=cluster.access,
        tolerations=dict(cluster.tolerations),
        node_selector=dict(cluster.node_selector),
        timeout=cluster.timeout,
        pending_after=cluster.pending_after,
        workspace=_workspace(cluster.workspace),
    )


def _rate(rate: ClusterRateConfig, currency: str) -> Rate:
    return Rate(Money(rate.hourly, currency), rate.since or date.min)


def _workspace(workspace: WorkspaceConfig) -> Workspace:
    return Workspace(
        image=workspace.image,
        images=dict(workspace.images),
        command=workspace.command,
        port=workspace.port,
        mount=workspace.mount,
        cpu=workspace.cpu,
        memory=workspace.memory,
        user=workspace.user,
        template=workspace.template,
    )
