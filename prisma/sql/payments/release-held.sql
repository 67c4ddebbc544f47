-- Transfers what is held for an order to another account.
-- @none
INSERT INTO ledger_transfers (debit, credit, amount, currency, customer_id, order_id, created_at)
SELECT 'held', :to, sum(CASE WHEN t.credit = 'held' THEN t.amount ELSE -t.amount END), t.currency,
  t.customer_id, t.order_id, :at
FROM ledger_transfers t
WHERE t.order_id = :order_id AND 'held' IN (t.debit, t.credit)
GROUP BY t.currency, t.customer_id, t.order_id
HAVING sum(CASE WHEN t.credit = 'held' THEN t.amount ELSE -t.amount END) > 0
