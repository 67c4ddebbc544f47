-- A transfer from or to the account `balance` changes the credit of its customer, which is never negative.
CREATE OR REPLACE FUNCTION change_balance()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF NEW.credit = 'balance' THEN
    INSERT INTO customer_balances AS b (customer_id, currency, amount)
    VALUES (NEW.customer_id, NEW.currency, NEW.amount)
    ON CONFLICT (customer_id, currency) DO UPDATE SET amount = b.amount + NEW.amount;
  ELSE
    UPDATE customer_balances SET amount = amount - NEW.amount
    WHERE customer_id = NEW.customer_id AND currency = NEW.currency;
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER ledger_transfers_balance AFTER INSERT ON ledger_transfers
  FOR EACH ROW WHEN ('balance' IN (NEW.debit, NEW.credit)) EXECUTE FUNCTION change_balance();
