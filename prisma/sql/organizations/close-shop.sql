-- Archives the products and meters of an organization, and removes the personal data of its customers and the
-- e-mails to them. The rows stay for the orders.
-- @none
WITH archived AS (
  UPDATE products SET active = false, updated_at = now() WHERE organization_id = :id AND active
), archived_meters AS (
  UPDATE meters SET active = false, updated_at = now() WHERE organization_id = :id AND active
), mails_to_customers AS (
  DELETE FROM mails m USING customers t WHERE t.organization_id = :id AND m.recipient = t.email
    AND m.user_id IS NULL AND m.kind IN ('receipt', 'refund_receipt')
)
UPDATE customers t SET {customers/forgotten} WHERE t.organization_id = :id AND t.deleted_at IS NULL
