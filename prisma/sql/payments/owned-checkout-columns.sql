-- `checkout-state-columns`, with the project and the owner.
{checkout-state-columns}, c.project_id, {owner row=c}
