-- The number of events that `log` has read with its next block `g`, or that are left, if they are fewer.
least(2 * g.size - l.first_block, l.step * (l.stop - g.at))
