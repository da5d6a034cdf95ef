-- Which call sites keep more memory at exit in the newest release than in the release before it:
-- mean bytes of a run; error_bytes: of the growth, for sampled memory.
WITH releases AS (
	SELECT release, min(started) AS since, count(*) AS runs FROM runs
	WHERE release <> '' GROUP BY release ORDER BY since DESC, release DESC LIMIT 2),
newest AS (SELECT * FROM releases ORDER BY since DESC, release DESC LIMIT 1),
former AS (SELECT * FROM releases ORDER BY since DESC, release DESC LIMIT 1 OFFSET 1),
sums AS (
	SELECT class, site, release, sum(live_bytes) AS bytes, count(*) AS runs,
		sum(1.0 * live_error_bytes * live_error_bytes) AS squares
	FROM holds JOIN runs USING (run) WHERE live_bytes > 0 GROUP BY class, site, release),
pairs AS (
	SELECT class, site, sum(CASE WHEN release = (SELECT release FROM newest)
			THEN bytes ELSE 0 END) / (SELECT runs FROM newest) AS new_bytes,
		sum(CASE WHEN release = (SELECT release FROM former)
			THEN bytes ELSE 0 END) / (SELECT runs FROM former) AS old_bytes,
		sum(CASE WHEN release = (SELECT release FROM newest) THEN runs ELSE 0 END) AS runs,
		sqrt(sum(squares)) AS error
	FROM sums WHERE release IN (SELECT release FROM releases) GROUP BY class, site)
SELECT class, site, new_bytes - old_bytes AS growth_bytes,
	CAST(error / (SELECT runs FROM newest) AS INTEGER) AS error_bytes,
	new_bytes, old_bytes, pairs.runs AS new_runs, function, stack
FROM pairs LEFT JOIN sites USING (site)
WHERE new_bytes > old_bytes ORDER BY growth_bytes DESC, class, site LIMIT 20;
