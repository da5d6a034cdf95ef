-- Call sites with live objects at exit in the newest release that no older release had.
WITH newest AS (
	SELECT release, min(started) AS since FROM runs WHERE release <> ''
	GROUP BY release ORDER BY since DESC, release DESC LIMIT 1),
known AS (
	SELECT DISTINCT class, site FROM holds JOIN runs USING (run)
	WHERE live > 0 AND release <> (SELECT release FROM newest))
SELECT class, site, sum(live) AS live, sum(live_bytes) AS live_bytes, count(*) AS runs, function,
	stack
FROM holds JOIN runs USING (run) LEFT JOIN sites USING (site)
WHERE live > 0 AND release = (SELECT release FROM newest)
	AND (class, site) NOT IN (SELECT class, site FROM known)
GROUP BY class, site ORDER BY sum(live_bytes) DESC, sum(live) DESC, class, site LIMIT 20;
