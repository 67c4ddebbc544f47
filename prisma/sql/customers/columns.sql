-- The columns of a customer, from customers t.
-- @type address Schemas['Address']
-- @type tax_ids Schemas['TaxId'][]
-- @type metadata Record<string, string>
t.id, t.organization_id, t.user_id, t.buyer_organization_id, t.external_id, t.email, t.name, t.address,
t.tax_ids, t.locale, t.metadata, t.created_by, t.created_at, t.updated_at
