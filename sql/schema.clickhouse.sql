-- The tables of `holdtrace rows` for ClickHouse (tried with 18.16 and 26.7); holdtrace-fleet(7) explains the
-- columns. A run that is loaded twice is there once, for queries with FINAL.
CREATE DATABASE IF NOT EXISTS holdtrace;
CREATE TABLE IF NOT EXISTS holdtrace.runs (
	run Int64, started Int64, host String, job String, rank Nullable(Int64), release String,
	labels String, program String, command String, duration_ns Int64, processes Int64,
	events Int64, dropped Nullable(Int64), sample_bytes Int64)
	ENGINE = ReplacingMergeTree ORDER BY run;
CREATE TABLE IF NOT EXISTS holdtrace.processes (
	run Int64, process Int64, pid Int64, parent Nullable(Int64), program String, start_ns Int64,
	duration_ns Nullable(Int64), threads Nullable(Int64), events Int64, dropped Nullable(Int64),
	status String, command String)
	ENGINE = ReplacingMergeTree ORDER BY (run, process);
CREATE TABLE IF NOT EXISTS holdtrace.sites (
	site Int64, function String, module String, stack String)
	ENGINE = ReplacingMergeTree ORDER BY site;
CREATE TABLE IF NOT EXISTS holdtrace.holds (
	run Int64, class String, site Int64, acquired Int64, acquired_bytes Int64, live Int64,
	live_bytes Int64, live_error_bytes Int64, peak Int64, peak_bytes Int64, held_ns Int64)
	ENGINE = ReplacingMergeTree ORDER BY (run, class, site);
CREATE TABLE IF NOT EXISTS holdtrace.waits (
	run Int64, kind String, function String, site Int64, holder Int64, waits Int64,
	wait_ns Int64, longest_ns Int64)
	ENGINE = ReplacingMergeTree ORDER BY (run, kind, function, site, holder);
CREATE TABLE IF NOT EXISTS holdtrace.descriptors (
	run Int64, process Int64, pid Int64, program String, peak Int64, peak_ns Int64,
	inherited Nullable(Int64), opened Int64, open Int64)
	ENGINE = ReplacingMergeTree ORDER BY (run, process);
