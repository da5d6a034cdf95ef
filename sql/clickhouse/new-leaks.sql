-- Call sites with live objects at exit in the newest release that no older release had.
SELECT class, site, objects AS live, bytes AS live_bytes, runs, function, stack
FROM (
	SELECT class, site, sumIf(live, is_newest) AS objects,
		sumIf(live_bytes, is_newest) AS bytes, countIf(is_newest) AS runs
	FROM holdtrace.holds FINAL
	ALL INNER JOIN (
		SELECT run, release = newest AS is_newest
		FROM holdtrace.runs FINAL
		CROSS JOIN (
			SELECT name AS newest FROM (
				SELECT release AS name, min(started) AS since
				FROM holdtrace.runs FINAL WHERE release != ''
				GROUP BY name ORDER BY since DESC, name DESC LIMIT 1)) AS releases
	) AS releases_of_runs USING run
	WHERE live > 0
	GROUP BY class, site HAVING countIf(NOT is_newest) = 0
) AS grouped ANY LEFT JOIN (SELECT site, function, stack FROM holdtrace.sites FINAL) AS sites USING site
ORDER BY live_bytes DESC, live DESC, class, site LIMIT 20
