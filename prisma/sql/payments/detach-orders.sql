-- Detaches a batch of orders from a project.
-- @one
{detach-batch table=orders}
