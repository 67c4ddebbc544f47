-- Whether the endpoint `w` receives the event `e`. Not one that was made after the event.
{selects-event type=e.type} AND {may-receive} AND w.events_after < e.position
