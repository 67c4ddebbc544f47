-- Removes the personal data of a locked customer. The row stays for the orders.
-- @none
UPDATE customers t SET {forgotten} WHERE id = :id
