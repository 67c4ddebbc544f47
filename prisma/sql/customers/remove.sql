-- Removes the personal data of a locked customer, and the e-mails to it. The row stays for the orders.
-- @none
WITH mails_to_customer AS (
  DELETE FROM mails m USING customers t WHERE t.id = :id AND m.recipient = t.email AND m.user_id IS NULL
    AND m.kind IN ('receipt', 'refund_receipt')
)
UPDATE customers t SET {forgotten} WHERE id = :id
