-- Tables for several servers, each with a part of the runs: first make the tables of
-- schema.clickhouse.sql on each server in the database holdtrace_local, then these on the server that
-- gets rows and queries. The servers are the cluster holdtrace of its configuration (remote_servers).
-- Queries need the setting distributed_product_mode = 'global'.
CREATE DATABASE IF NOT EXISTS holdtrace;
CREATE TABLE IF NOT EXISTS holdtrace.runs AS holdtrace_local.runs
	ENGINE = Distributed(holdtrace, holdtrace_local, runs, run);
CREATE TABLE IF NOT EXISTS holdtrace.processes AS holdtrace_local.processes
	ENGINE = Distributed(holdtrace, holdtrace_local, processes, run);
CREATE TABLE IF NOT EXISTS holdtrace.sites AS holdtrace_local.sites
	ENGINE = Distributed(holdtrace, holdtrace_local, sites, site);
CREATE TABLE IF NOT EXISTS holdtrace.holds AS holdtrace_local.holds
	ENGINE = Distributed(holdtrace, holdtrace_local, holds, run);
CREATE TABLE IF NOT EXISTS holdtrace.waits AS holdtrace_local.waits
	ENGINE = Distributed(holdtrace, holdtrace_local, waits, run);
CREATE TABLE IF NOT EXISTS holdtrace.descriptors AS holdtrace_local.descriptors
	ENGINE = Distributed(holdtrace, holdtrace_local, descriptors, run);
