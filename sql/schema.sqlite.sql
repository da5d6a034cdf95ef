-- The tables of `holdtrace rows` for SQLite; holdtrace-fleet(7) explains the columns. Each table has
-- a table load_TABLE, which is always empty: a row that is imported into it goes to TABLE, with \N as
-- NULL and unescaped texts (char(1) stands for a backslash meanwhile; no text has it). Version 3.46 of
-- sqlite3 does not import into views.
CREATE TABLE IF NOT EXISTS runs (
	run INTEGER PRIMARY KEY, started INTEGER, host TEXT, job TEXT, rank INTEGER, release TEXT,
	labels TEXT, program TEXT, command TEXT, duration_ns INTEGER, processes INTEGER,
	events INTEGER, dropped INTEGER, sample_bytes INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS processes (
	run INTEGER, process INTEGER, pid INTEGER, parent INTEGER, program TEXT, start_ns INTEGER,
	duration_ns INTEGER, threads INTEGER, events INTEGER, dropped INTEGER, status TEXT,
	command TEXT, PRIMARY KEY (run, process)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sites (
	site INTEGER PRIMARY KEY, function TEXT, module TEXT, stack TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS holds (
	run INTEGER, class TEXT, site INTEGER, acquired INTEGER, acquired_bytes INTEGER,
	live INTEGER, live_bytes INTEGER, live_error_bytes INTEGER, peak INTEGER,
	peak_bytes INTEGER, held_ns INTEGER, PRIMARY KEY (run, class, site)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS waits (
	run INTEGER, kind TEXT, function TEXT, site INTEGER, holder INTEGER, waits INTEGER,
	wait_ns INTEGER, longest_ns INTEGER,
	PRIMARY KEY (run, kind, function, site, holder)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS descriptors (
	run INTEGER, process INTEGER, pid INTEGER, program TEXT, peak INTEGER, peak_ns INTEGER,
	inherited INTEGER, opened INTEGER, open INTEGER, PRIMARY KEY (run, process)) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS load_runs AS SELECT * FROM runs WHERE 0;
CREATE TRIGGER IF NOT EXISTS load_runs AFTER INSERT ON load_runs BEGIN
	INSERT OR REPLACE INTO runs VALUES (NEW.run, NEW.started,
		replace(replace(replace(replace(NEW.host,
			'\\', char(1)), '\t', char(9)), '\n', char(10)), char(1), '\'),
		replace(replace(replace(replace(NEW.job,
			'\\', char(1)), '\t', char(9)), '\n', char(10)), char(1), '\'),
		nullif(NEW.rank, '\N'),
		replace(replace(replace(replace(NEW.release,
			'\\', char(1)), '\t', char(9)), '\n', char(10)), char(1), '\'),
		replace(replace(replace(replace(NEW.labels,
			'\\', char(1)), '\t', char(9)), '\n', char(10)), char(1), '\'),
		replace(replace(replace(replace(NEW.program,
			'\\', char(1)), '\t', char(9)), '\n', char(10)), char(1), '\'),
		replace(replace(replace(replace(NEW.command,
			'\\', char(1)), '\t', char(9)), '\n', char(10)), char(1), '\'),
		NEW.duration_ns, NEW.processes, NEW.events, nullif(NEW.dropped, '\N'),
		NEW.sample_bytes);
	DELETE FROM load_runs;
END;
CREATE TABLE IF NOT EXISTS load_processes AS SELECT * FROM processes WHERE 0;
CREATE TRIGGER IF NOT EXISTS load_processes AFTER INSERT ON load_processes BEGIN
	INSERT OR REPLACE INTO processes VALUES (NEW.run, NEW.process, NEW.pid,
		nullif(NEW.parent, '\N'),
		replace(replace(replace(replace(NEW.program,
			'\\', char(1)), '\t', char(9)), '\n', char(10)), char(1), '\'),
		NEW.start_ns,
		nullif(NEW.duration_ns, '\N'), nullif(NEW.threads, '\N'), NEW.events,
		nullif(NEW.dropped, '\N'), NEW.status,
		replace(replace(replace(replace(NEW.command,
			'\\', char(1)), '\t', char(9)), '\n', char(10)), char(1), '\'));
	DELETE FROM load_processes;
END;
CREATE TABLE IF NOT EXISTS load_sites AS SELECT * FROM sites WHERE 0;
CREATE TRIGGER IF NOT EXISTS load_sites AFTER INSERT ON load_sites BEGIN
	INSERT OR REPLACE INTO sites VALUES (NEW.site,
		replace(replace(replace(replace(NEW.function,
			'\\', char(1)), '\t', char(9)), '\n', char(10)), char(1), '\'),
		replace(replace(replace(replace(NEW.module,
			'\\', char(1)), '\t', char(9)), '\n', char(10)), char(1), '\'),
		replace(replace(replace(replace(NEW.stack,
			'\\', char(1)), '\t', char(9)), '\n', char(10)), char(1), '\'));
	DELETE FROM load_sites;
END;
CREATE TABLE IF NOT EXISTS load_holds AS SELECT * FROM holds WHERE 0;
CREATE TRIGGER IF NOT EXISTS load_holds AFTER INSERT ON load_holds BEGIN
	INSERT OR REPLACE INTO holds VALUES (NEW.run,
		replace(replace(replace(replace(NEW.class,
			'\\', char(1)), '\t', char(9)), '\n', char(10)), char(1), '\'),
		NEW.site, NEW.acquired,
		NEW.acquired_bytes, NEW.live, NEW.live_bytes, NEW.live_error_bytes, NEW.peak,
		NEW.peak_bytes, NEW.held_ns);
	DELETE FROM load_holds;
END;
CREATE TABLE IF NOT EXISTS load_waits AS SELECT * FROM waits WHERE 0;
CREATE TRIGGER IF NOT EXISTS load_waits AFTER INSERT ON load_waits BEGIN
	INSERT OR REPLACE INTO waits VALUES (NEW.run, NEW.kind, NEW.function, NEW.site,
		NEW.holder, NEW.waits, NEW.wait_ns, NEW.longest_ns);
	DELETE FROM load_waits;
END;
CREATE TABLE IF NOT EXISTS load_descriptors AS SELECT * FROM descriptors WHERE 0;
CREATE TRIGGER IF NOT EXISTS load_descriptors AFTER INSERT ON load_descriptors BEGIN
	INSERT OR REPLACE INTO descriptors VALUES (NEW.run, NEW.process, NEW.pid,
		replace(replace(replace(replace(NEW.program,
			'\\', char(1)), '\t', char(9)), '\n', char(10)), char(1), '\'),
		NEW.peak, NEW.peak_ns, nullif(NEW.inherited, '\N'),
		NEW.opened, NEW.open);
	DELETE FROM load_descriptors;
END;
