-- A time after that of every earlier choice of a customer.
greatest(:at, (SELECT max(c.chosen_at) + interval '1 millisecond' FROM payment_methods c
  WHERE c.customer_id = :customer_id))
