// Waiting for conditions instead of for time, so that a slow machine is only slow.

/** Asks until the answer is true. Throws after a minute, which no healthy run comes near. */
export async function waitUntil (condition: () => boolean | Promise<boolean>, what = 'the condition'): Promise<void> {
  const deadline = Date.now() + 60_000
  while (!await condition()) {
    if (Date.now() > deadline) throw new Error(`waited a minute for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
