-- Orders and subscriptions survive their project and move to their owner.
CREATE OR REPLACE FUNCTION detach_from_project()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  NEW.workspace_id := coalesce(NEW.project_id, NEW.owner_id);
  IF TG_TABLE_NAME = 'subscriptions' THEN
    NEW.abandoned := NEW.project_id IS NULL;
    IF NEW.abandoned AND NEW.ended_at IS NULL THEN
      NEW.due_at := payments_now();
    END IF;
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER orders_detach_from_project BEFORE UPDATE OF project_id ON orders
  FOR EACH ROW WHEN ((old.project_id IS DISTINCT FROM new.project_id))
  EXECUTE FUNCTION detach_from_project();

CREATE OR REPLACE TRIGGER subscriptions_detach_from_project BEFORE UPDATE OF project_id ON subscriptions
  FOR EACH ROW WHEN ((old.project_id IS DISTINCT FROM new.project_id))
  EXECUTE FUNCTION detach_from_project();
