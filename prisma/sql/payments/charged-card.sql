-- The card that a subscription is charged to: the default of its customer, else the one that paid it.
coalesce((SELECT jsonb_build_object('brand', m.brand, 'last4', m.last4, 'renews', m.renews)
  FROM payment_methods m WHERE m.customer_id = s.customer_id AND m.gateway = 'sandbox'
  ORDER BY m.chosen_at DESC, m.id DESC LIMIT 1), s.card)
