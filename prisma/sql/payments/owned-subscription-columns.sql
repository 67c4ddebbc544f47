-- `subscription-state-columns`, with the project and the owner.
{subscription-state-columns}, s.project_id, {owner row=s}
