-- Inserts an order with its items.
-- @one
WITH o AS (
  INSERT INTO orders (id, number, project_id, owner_id, workspace_id, currency, credit_amount, total_amount,
    subscription_id, period, metadata, created_by, created_at, updated_at)
  VALUES (:id, :number, :project_id?, :owner_id, coalesce(:project_id, :owner_id), :currency, :credit,
    :total, :subscription_id?, :period?, :metadata, :created_by?, :created_at, :created_at)
  RETURNING *
), i AS (
  INSERT INTO order_items (order_id, position, price_id, description, quantity, unit_amount, amount, usage)
  SELECT :id, line.position, line.price_id, line.description, line.quantity, line.unit_amount,
    line.quantity * line.unit_amount, line.usage::jsonb
  FROM unnest(:price_ids::text[], :descriptions::text[], :quantities::int[], :unit_amounts::bigint[],
      :usages[?]::text[])
    WITH ORDINALITY AS line (price_id, description, quantity, unit_amount, usage, position)
  RETURNING *
)
SELECT {order-columns items=i}, o.project_id, {owner row=o} FROM o
