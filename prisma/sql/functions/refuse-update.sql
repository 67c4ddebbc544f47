-- The items of an order and the transfers of the ledger never change.
CREATE OR REPLACE FUNCTION refuse_update()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION '% never change', TG_TABLE_NAME USING ERRCODE = 'check_violation', CONSTRAINT =
    TG_TABLE_NAME || '_fixed';
END $function$;

CREATE OR REPLACE TRIGGER order_items_fixed BEFORE UPDATE ON order_items
  FOR EACH ROW EXECUTE FUNCTION refuse_update();

CREATE OR REPLACE TRIGGER ledger_transfers_fixed BEFORE UPDATE OR DELETE ON ledger_transfers
  FOR EACH ROW EXECUTE FUNCTION refuse_update();
