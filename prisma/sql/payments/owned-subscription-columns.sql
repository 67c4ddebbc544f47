-- `subscription-state-columns`, with the project and the owner.
{subscription-state-columns}, s.project_id, s.owner_id
