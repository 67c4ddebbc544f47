-- The primary keys find the usage of a customer. Without statistics PostgreSQL read an index of the meter and
-- the hour in their place, with all customers of the hour.

-- DropIndex
DROP INDEX "usage_hours_meter_id_hour_idx";

-- DropIndex
DROP INDEX "usage_values_meter_id_hour_idx";
