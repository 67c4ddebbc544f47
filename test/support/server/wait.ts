// Waits for a condition in place of a fixed time, so that a slow machine does not fail a test.

/** Polls until the condition is true. @throws after `milliseconds`, which no healthy run reaches. */
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
