-- The actor of the event e. In the table, only that of a service account has `service_account_id`.
'{"service_account_id": null}' || e.actor
