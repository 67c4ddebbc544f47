-- Inserts an open checkout session, which becomes the latest one of its order.
-- @one
WITH c AS (
  INSERT INTO checkouts (id, project_id, owner_id, mode, order_id, owns_order, subscription_id, total_amount,
    currency, url, success_url, cancel_url, gateway, metadata, expires_at, created_at)
  VALUES (:id, :project_id?, :owner_id, :mode, :order_id, :owns_order, :subscription_id?, :total_amount,
    :currency, :url, :success_url, :cancel_url, :gateway, :metadata, :expires_at, :created_at)
  RETURNING *
), ordered AS (UPDATE orders SET checkout_id = :id WHERE id = :order_id)
SELECT {owned-checkout-columns} FROM c
