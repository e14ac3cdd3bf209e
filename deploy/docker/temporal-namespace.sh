#!/bin/sh
# Prepares a Temporal server for lessor: the namespace and the search attributes. What is there already stays; run it
# again after an upgrade of lessor. Reads TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and TEMPORAL_RETENTION.
set -eu
: "${TEMPORAL_NAMESPACE:=default}" "${TEMPORAL_RETENTION:=30d}"

tries=0
until temporal operator cluster health >/dev/null 2>&1; do
    tries=$((tries + 1))
    if [ "$tries" -ge 60 ]; then
        echo "Temporal at $TEMPORAL_ADDRESS did not become healthy" >&2
        exit 1
    fi
    sleep 1
done

if ! temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1; then
    temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention "$TEMPORAL_RETENTION"
fi

tries=0
until temporal operator search-attribute create --namespace "$TEMPORAL_NAMESPACE" \
    --name GpuState --type Keyword \
    --name GpuOwner --type Keyword \
    --name GpuTeam --type Keyword \
    --name GpuProvider --type Keyword \
    --name GpuModel --type Keyword \
    --name GpuMarket --type Keyword \
    --name GpuWorkload --type Keyword \
    --name GpuCount --type Int \
    --name GpuHourlyUsd --type Double \
    --name GpuEnds --type Datetime \
    --name GpuResources --type KeywordList; do
    # A new namespace takes a few seconds until every part of the server knows it.
    tries=$((tries + 1))
    [ "$tries" -lt 20 ] || exit 1
    sleep 1
done
