-- For which call sites threads wait longest, over all runs: the holder of the lock, or the thread
-- that ended the wait; holder 0: not known.
SELECT kind, holder, waits, wait_ns, longest_ns, runs, function, stack
FROM (
	SELECT kind, holder, holder AS site, sum(waits) AS waits, sum(wait_ns) AS wait_ns,
		max(longest_ns) AS longest_ns, uniqExact(run) AS runs
	FROM holdtrace.waits FINAL GROUP BY kind, holder
) AS grouped ANY LEFT JOIN (SELECT site, function, stack FROM holdtrace.sites FINAL) AS sites USING site
ORDER BY wait_ns DESC, kind, holder LIMIT 20
