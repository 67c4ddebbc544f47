-- A page of the deliveries of an endpoint, newest first, with the total.
-- @many
{delivery-page direction=DESC}
