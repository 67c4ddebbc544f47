-- Detaches a batch of checkout sessions from a project.
-- @one
{detach-batch table=checkouts}
