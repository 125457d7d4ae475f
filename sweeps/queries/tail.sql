-- How late each subject is, and what it takes of the CPU, by the load beside it.
SELECT
    subject,
    load,
    median(late_ns_p50) / 1e3 AS late_us_p50,
    median(late_ns_p99) / 1e3 AS late_us_p99,
    median(cpu_ns) / 1e3 AS cpu_us
FROM read_ndjson('model=*/rows.ndjson', hive_partitioning = true)
GROUP BY subject, load
ORDER BY load, late_us_p99;
