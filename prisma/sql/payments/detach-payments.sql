-- Detaches a batch of payments from a project.
-- @one
{detach-batch table=payments}
