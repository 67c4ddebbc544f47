-- The columns of a recipient, from webhook_endpoints w.
w.id, {is-failing} AS failing
