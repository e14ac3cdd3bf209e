#!/bin/sh
# Runs once, when PostgreSQL makes its data directory: lessor's ledger gets a database and a user of its own.
set -eu
psql --set=ON_ERROR_STOP=1 --username="$POSTGRES_USER" --dbname=postgres --set=password="$LESSOR_DATABASE_PASSWORD" <<'SQL'
CREATE ROLE lessor LOGIN PASSWORD :'password';
CREATE DATABASE lessor OWNER lessor;
SQL
