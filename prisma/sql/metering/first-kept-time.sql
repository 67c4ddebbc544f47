-- Events of this hour and later ones are kept. Payment clocks are never behind.
date_trunc('hour', now() - :days::int * interval '1 day', 'UTC')
