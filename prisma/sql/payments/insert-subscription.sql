-- Inserts an incomplete subscription, whose first order `set-latest-order` sets.
-- @none
INSERT INTO subscriptions (id, project_id, owner_id, workspace_id, price_id, quantity, gateway, metadata,
  created_at)
VALUES (:id, :project_id?, :owner_id, coalesce(:project_id, :owner_id), :price_id, :quantity, :gateway,
  :metadata, :created_at)
