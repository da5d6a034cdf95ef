-- Which call sites keep more memory at exit in the newest release than in the release before it:
-- mean bytes of a run; error_bytes: of the growth, for sampled memory.
SELECT class, site, new_bytes - old_bytes AS growth_bytes,
	toInt64(sqrt(squares) / new_count) AS error_bytes, new_bytes, old_bytes, new_runs, function,
	stack
FROM (
	SELECT class, site, any(of_newest) AS new_count,
		intDiv(sumIf(live_bytes, age = 1), any(of_newest)) AS new_bytes,
		intDiv(sumIf(live_bytes, age = 2), any(of_former)) AS old_bytes,
		countIf(age = 1) AS new_runs,
		sum(toFloat64(live_error_bytes) * live_error_bytes) AS squares
	FROM holdtrace.holds FINAL
	ALL INNER JOIN (
		SELECT run, indexOf(newest, release) AS age, counts[1] AS of_newest,
			counts[2] AS of_former
		FROM holdtrace.runs FINAL
		CROSS JOIN (
			SELECT groupArray(name) AS newest, groupArray(runs) AS counts
			FROM (
				SELECT release AS name, toInt64(count()) AS runs
				FROM holdtrace.runs FINAL WHERE release != ''
				GROUP BY name ORDER BY min(started) DESC, name DESC LIMIT 2)) AS releases
		WHERE age > 0
	) AS releases_of_runs USING run
	WHERE live_bytes > 0
	GROUP BY class, site
) AS grouped ANY LEFT JOIN (SELECT site, function, stack FROM holdtrace.sites FINAL) AS sites USING site
WHERE new_bytes > old_bytes ORDER BY growth_bytes DESC, class, site LIMIT 20
