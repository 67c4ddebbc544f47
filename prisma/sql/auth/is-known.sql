-- An expression: whether the user u has a session from the network.
EXISTS (SELECT 1 FROM sign_ins s WHERE s.user_id = u.id AND s.network = :network)
