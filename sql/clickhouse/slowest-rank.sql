-- In each job, how long each rank ran and waited, the rank that waited least first, and the call
-- site of its longest wait. If ranks wait for each other in calls that block (files, sockets, locks),
-- the first one is the rank that the others wait for. MPI libraries that poll do not block.
SELECT job, rank, host, duration_ns, total_ns AS wait_ns, most_ns AS longest_ns, function, stack
FROM (
	SELECT job, rank, host, duration_ns, total_ns, most_ns, site
	FROM (
		SELECT run, job, rank, host, duration_ns FROM holdtrace.runs FINAL
		WHERE rank IS NOT NULL
	) AS ranked ANY LEFT JOIN (
		SELECT run, sum(wait_ns) AS total_ns, max(longest_ns) AS most_ns,
			argMax(site, longest_ns) AS site
		FROM holdtrace.waits FINAL GROUP BY run
	) AS waits_of_runs USING run
) AS grouped ANY LEFT JOIN (SELECT site, function, stack FROM holdtrace.sites FINAL) AS sites USING site
ORDER BY job, wait_ns, rank LIMIT 20
