// Waiting for conditions instead of for time, so that a slow machine is only slow.

/** Asks until the answer is true. Throws after a minute, or what is said, which no healthy run comes near. */
export async function waitUntil(
  condition: () => boolean | Promise<boolean>,
  what = 'the condition',
  milliseconds = 60_000,
): Promise<void> {
  const deadline = Date.now() + milliseconds
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`waited ${milliseconds / 1000} s for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
