#!/bin/sh
# Brings both of Temporal's databases to the schema of this version of the server; runs again at every start and every
# upgrade. The password comes from SQL_PASSWORD.
set -eu
schemas=/etc/temporal/schema/postgresql/v12
for pair in temporal:temporal temporal_visibility:visibility; do
    database=${pair%%:*} schema=${pair##*:}
    run() { temporal-sql-tool --plugin "$DB" --endpoint "$POSTGRES_SEEDS" --port "$DB_PORT" --user "$POSTGRES_USER" --database "$database" "$@"; }
    run create-database
    run setup-schema --version 0.0
    run update-schema --schema-dir "$schemas/$schema/versioned"
done
