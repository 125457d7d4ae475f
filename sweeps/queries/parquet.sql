-- The rows as Parquet, in a folder for each model.
COPY (SELECT * FROM read_ndjson('model=*/rows.ndjson', hive_partitioning = true))
TO 'parquet' (FORMAT parquet, PARTITION_BY (model), OVERWRITE_OR_IGNORE);
