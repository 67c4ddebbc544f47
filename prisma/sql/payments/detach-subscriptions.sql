-- Detaches a batch of subscriptions from a project.
-- @one
{detach-batch table=subscriptions}
