-- Records that the events up to a sequence were deleted.
-- @none
UPDATE event_log SET removed_through = greatest(removed_through, :sequence)
