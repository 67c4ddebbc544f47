-- Whose a sale is: of the user, or of a customer without one. Its events belong to the owner.
coalesce({row}.owner_id, {row}.customer_id) AS "owner_id!"
