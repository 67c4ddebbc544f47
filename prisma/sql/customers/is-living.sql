-- Whether the customer t is not deleted.
t.deleted_at IS NULL
