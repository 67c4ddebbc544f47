-- The number of rows of the table {kind}. The triggers `count_sales_*` maintain it.
SELECT coalesce(sum(count), 0) AS total FROM sales_counts WHERE kind = {kind}
