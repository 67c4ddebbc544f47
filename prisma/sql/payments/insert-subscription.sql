-- Inserts an incomplete subscription, whose first order is inserted next.
-- @one
INSERT INTO subscriptions AS s (id, latest_order_id, project_id, owner_id, workspace_id, price_id, quantity,
  items, trial_end, due_at, gateway, metadata, created_at)
VALUES (:id, :latest_order_id, :project_id?, :owner_id, coalesce(:project_id, :owner_id), :price_id,
  :quantity, :items?, :trial_end?, :due_at?, :gateway, :metadata, :created_at)
RETURNING {owned-subscription-columns}
