-- The items of an order never change.
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
