-- A page of the deliveries of an endpoint, oldest first, with the total.
-- @many
{delivery-page direction=ASC}
