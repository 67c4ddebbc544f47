-- `checkout-columns`, with the project and the owner.
{checkout-columns}, c.project_id, c.owner_id
