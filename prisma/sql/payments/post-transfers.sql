-- Records transfers of the ledger.
-- @none
INSERT INTO ledger_transfers (debit, credit, amount, currency, customer_id, order_id, created_at)
SELECT t.debit::"LedgerAccount", t.credit::"LedgerAccount", t.amount, :currency,
  :customer_id?, :order_id?, :created_at
FROM unnest(:debits::text[], :credits::text[], :amounts::bigint[]) AS t (debit, credit, amount)
