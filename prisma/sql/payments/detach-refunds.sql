-- Detaches a batch of refunds from a project.
-- @one
{detach-batch table=refunds}
