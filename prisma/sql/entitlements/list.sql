-- The features that a product or an override decides about.
-- @page
SELECT f.id, {columns}, {used}
{customer}
  LEFT JOIN LATERAL (
    -- A join condition on the type would not keep PostgreSQL from calling the function first.
    {period metered=(f.type='metered') meter=f.meter_id customer=c.id now=t.now start=p.period_start
      end=p.period_end}
    WHERE f.type = 'metered'
  ) m ON true
WHERE c.id = :customer_id AND (o.feature_id IS NOT NULL OR p.feature_id IS NOT NULL)
-- @sort feature
f.key
-- @id
f.id
