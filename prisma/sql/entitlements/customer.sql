-- The features f of the seller of a customer, with the override o that has not expired, the product p that
-- gives the most, and the limit l, at the time t of the customer.
FROM customers c
  CROSS JOIN LATERAL (
    SELECT statement_timestamp() + ((SELECT "offset" FROM payment_clock) + c.clock_offset)
      * interval '1 millisecond' AS now
  ) t
  -- IS NOT DISTINCT FROM would use no index.
  JOIN features f ON f.organization_id = c.organization_id
    OR f.organization_id IS NULL AND c.organization_id IS NULL
  LEFT JOIN entitlement_overrides o ON o.customer_id = c.id AND o.feature_id = f.id
    AND (o.expires_at IS NULL OR o.expires_at > t.now)
  LEFT JOIN LATERAL (
    SELECT pf.feature_id, pf.limit_value, {payments/began-at} AS period_start, s.period_end
    FROM subscriptions s
      JOIN prices pr ON pr.id = ANY(CASE WHEN s.items IS NULL THEN ARRAY[s.price_id]
        ELSE ARRAY(SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item) END)
      JOIN product_features pf ON pf.product_id = pr.product_id AND pf.feature_id = f.id
    WHERE s.customer_id = c.id AND s.status IN ('active', 'trialing', 'past_due')
    ORDER BY pf.limit_value DESC NULLS FIRST, s.period_end, s.id
    LIMIT 1
  ) p ON true
  CROSS JOIN LATERAL (
    SELECT CASE WHEN o.feature_id IS NULL THEN p.limit_value ELSE o.limit_value END AS maximum
  ) l
