-- The number of rows of the table {kind} that are sales of an organization, as `count-sales`.
SELECT coalesce(sum(count), 0) AS total FROM sales_counts
WHERE kind = {kind} AND seller = :seller_organization_id
