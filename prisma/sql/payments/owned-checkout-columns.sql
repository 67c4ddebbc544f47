-- `checkout-state-columns`, with the project and the owner.
{checkout-state-columns}, c.project_id, c.owner_id
