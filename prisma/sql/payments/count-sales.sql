-- The number of rows of the table {kind} that the operator sold. The triggers `<table>_count` maintain it.
SELECT coalesce(sum(count), 0) AS total FROM sales_counts WHERE kind = {kind} AND seller IS NULL
