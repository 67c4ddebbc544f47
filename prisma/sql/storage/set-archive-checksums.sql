-- Stores the CRC-32 of entries of an archive.
-- @none
UPDATE archive_entries e SET crc32 = c.sum
FROM unnest(:numbers::int[], :sums::bigint[]) AS c(number, sum)
WHERE e.archive_id = :archive_id AND e.number = c.number
