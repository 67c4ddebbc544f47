// The one way to measure: many short rounds, in which all lanes take turns, and of each number the least.
// Disturbances only add time, and they hit neighbouring lanes alike.

/**
 * Measures each lane once per round. The first round warms up and does not count; every other round goes
 * backward, so that no lane always follows the same one.
 * @returns for each lane the least of every number.
 */
export async function leastOfRounds<Lane, Numbers extends object>(
  lanes: Lane[],
  rounds: number,
  measure: (lane: Lane, isWarmup: boolean) => Promise<Numbers>,
): Promise<Numbers[]> {
  const least: Numbers[] = []
  for (let round = 0; round <= rounds; round++) {
    const order = lanes.map((_, i) => i)
    for (const i of round % 2 === 0 ? order : order.reverse()) {
      const numbers = await measure(lanes[i], round === 0)
      if (round === 1) least[i] = numbers
      if (round > 1) least[i] = smaller(least[i], numbers)
    }
  }
  return least
}

function smaller<Numbers extends object>(a: Numbers, b: Numbers): Numbers {
  const other = b as Record<string, number>
  return Object.fromEntries(
    Object.entries(a as Record<string, number>).map(([name, value]) => [name, Math.min(value, other[name])]),
  ) as Numbers
}
