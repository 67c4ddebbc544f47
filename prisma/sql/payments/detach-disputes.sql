-- Detaches a batch of disputes from a project.
-- @one
{detach-batch table=disputes}
