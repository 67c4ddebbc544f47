-- A scheduled change of a subscription, its items and the end of a pause are changes.
CREATE OR REPLACE TRIGGER subscriptions_set_updated_at BEFORE INSERT OR UPDATE OF project_id, status,
    quantity, price_id, items, change, period_start, period_end, resumes_at, cancel_at_period_end,
    canceled_at, ended_at, latest_order_id, metadata ON subscriptions
  FOR EACH ROW EXECUTE FUNCTION set_updated_at('payments');
